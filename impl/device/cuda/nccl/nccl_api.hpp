// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nccl.h>

#include <cstdint>
#include <filesystem>
#include <source_location>
#include <string>

namespace underlap::cuda {

/// A window of a communicator: a pointer to what no caller looks into. Headers before 2.27 have no name for it.
using NcclWindow = void*;
/// NCCL_WIN_COLL_SYMMETRIC, and what the addresses and sizes of windows are a multiple of.
inline constexpr int kSymmetricWindow = 1;
inline constexpr std::int64_t kWindowAlignment = 4096;

/// NCCL's functions, found when the program runs. The names are NCCL's without their prefix. A test puts its own in.
struct NcclApi {
  std::string path;  ///< of the library, for messages
  int version = 0;   ///< of the library, as ncclGetVersion returns it: 22809 is 2.28.9

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
  decltype(&ncclMemAlloc) MemAlloc = nullptr;
  decltype(&ncclMemFree) MemFree = nullptr;
  decltype(&ncclCommRegister) CommRegister = nullptr;
  decltype(&ncclCommDeregister) CommDeregister = nullptr;
  // of 2.27; null before
  ncclResult_t (*CommWindowRegister)(ncclComm_t, void* buffer, std::size_t bytes, NcclWindow*, int flags) = nullptr;
  ncclResult_t (*CommWindowDeregister)(ncclComm_t, NcclWindow) = nullptr;

  /// Both of the last two are there.
  bool has_windows() const { return CommWindowRegister != nullptr && CommWindowDeregister != nullptr; }

  /// Opens libnccl.so.2. Throws MachineError if it is missing. Throws also if it is older than 2.20, naming both
  /// versions.
  static NcclApi load();
  /// The same for that file: a second file of the same library is a second instance, with its own state.
  static NcclApi load(const std::filesystem::path& file);
};

/// Throws MachineError if `version` is older than Underlap needs; `path` is the library's path for the message.
void require_nccl_version(int version, const std::string& path);

/// Throws MachineError with NCCL's words for `result` and its last message, unless it is ncclSuccess.
void check(const NcclApi& api, ncclResult_t result,
           const std::source_location& where = std::source_location::current());

}  // namespace underlap::cuda
