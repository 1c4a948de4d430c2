// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nccl.h>

#include <source_location>
#include <string>

namespace underlap::cuda {

/// NCCL's functions, found when the program runs. The names are NCCL's without their prefix. A test puts its own in.
struct NcclApi {
  std::string path;  ///< of the library, for messages
  int version = 0;   ///< of the library, as ncclGetVersion says it: 22809 is 2.28.9

  decltype(&ncclGetErrorString) GetErrorString = nullptr;
  decltype(&ncclGetLastError) GetLastError = nullptr;
  decltype(&ncclGetUniqueId) GetUniqueId = nullptr;
  decltype(&ncclCommInitRankConfig) CommInitRankConfig = nullptr;
  decltype(&ncclCommDestroy) CommDestroy = nullptr;
  decltype(&ncclCommAbort) CommAbort = nullptr;
  decltype(&ncclCommGetAsyncError) CommGetAsyncError = nullptr;
  decltype(&ncclGroupStart) GroupStart = nullptr;
  decltype(&ncclGroupEnd) GroupEnd = nullptr;
  decltype(&ncclAllGather) AllGather = nullptr;
  decltype(&ncclReduceScatter) ReduceScatter = nullptr;
  decltype(&ncclAllReduce) AllReduce = nullptr;
  decltype(&ncclBroadcast) Broadcast = nullptr;
  decltype(&ncclSend) Send = nullptr;
  decltype(&ncclRecv) Recv = nullptr;

  /// Opens libnccl.so.2. Throws MachineError where there is none, and where it is older than 2.20, naming both
  /// versions.
  static NcclApi load();
};

/// "2.28.9" for 22809.
std::string nccl_version_text(int version);

/// Throws MachineError where `version` is older than Underlap needs; `path` says whose it is.
void require_nccl_version(int version, const std::string& path);

/// Throws MachineError with NCCL's words for `result` and its last message, unless it is ncclSuccess.
void check(const NcclApi& api, ncclResult_t result,
           const std::source_location& where = std::source_location::current());

}  // namespace underlap::cuda
