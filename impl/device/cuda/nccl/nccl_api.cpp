// SPDX-License-Identifier: Apache-2.0
#include "impl/device/cuda/nccl/nccl_api.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "platform/errors.hpp"
#include "platform/nvidia_library.hpp"

namespace underlap::cuda {
namespace {

NcclApi api_of(const SharedLibrary& library) {
  NcclApi api;
  api.path = library.path().string();
  decltype(&ncclGetVersion) get_version = nullptr;
  library.require("ncclGetVersion", get_version);
  (void)get_version(&api.version);
  require_nccl_version(api.version, api.path);
  library.require("ncclGetErrorString", api.GetErrorString);
  library.require("ncclGetLastError", api.GetLastError);
  library.require("ncclGetUniqueId", api.GetUniqueId);
  library.require("ncclCommInitRankConfig", api.CommInitRankConfig);
  library.require("ncclCommDestroy", api.CommDestroy);
  library.require("ncclCommAbort", api.CommAbort);
  library.require("ncclCommGetAsyncError", api.CommGetAsyncError);
  library.require("ncclGroupStart", api.GroupStart);
  library.require("ncclGroupEnd", api.GroupEnd);
  library.require("ncclAllGather", api.AllGather);
  library.require("ncclReduceScatter", api.ReduceScatter);
  library.require("ncclAllReduce", api.AllReduce);
  library.require("ncclBroadcast", api.Broadcast);
  library.require("ncclSend", api.Send);
  library.require("ncclRecv", api.Recv);
  library.require("ncclMemAlloc", api.MemAlloc);
  library.require("ncclMemFree", api.MemFree);
  library.require("ncclCommRegister", api.CommRegister);
  library.require("ncclCommDeregister", api.CommDeregister);
  library.find("ncclCommWindowRegister", api.CommWindowRegister);
  library.find("ncclCommWindowDeregister", api.CommWindowDeregister);
  return api;
}

}  // namespace

NcclApi NcclApi::load() { return api_of(open_library(NvidiaLibrary::nccl)); }

NcclApi NcclApi::load(const std::filesystem::path& file) { return api_of(SharedLibrary::open_file(file)); }

void require_nccl_version(int version, const std::string& path) {
  const std::int64_t oldest = entry_of(NvidiaLibrary::nccl).oldest;
  if (version >= oldest) return;
  throw MachineError(fmt::format("NCCL {} ({}) is older than {}: put a newer libnccl.so.2 on UNDERLAP_LIBRARY_PATH",
                                 release_text(version), path, release_text(oldest)));
}

void check(const NcclApi& api, ncclResult_t result, const std::source_location& where) {
  if (result == ncclSuccess) return;
  std::string_view file = where.file_name();
  file.remove_prefix(std::min(file.size(), file.rfind('/') + 1));
  const char* const last = api.GetLastError(nullptr);
  throw MachineError(fmt::format("NCCL: {}{}{} ({}:{})", api.GetErrorString(result),
                                 last != nullptr && *last != '\0' ? ": " : "", last != nullptr ? last : "", file,
                                 where.line()));
}

}  // namespace underlap::cuda
