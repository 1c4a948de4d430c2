// SPDX-License-Identifier: Apache-2.0
// SharedLibrary for whole programs on the simulated GPU: NVIDIA's libraries are the tests' own. Linked in place of
// platform/shared_library.cpp.
#include "platform/shared_library.hpp"

#include <fmt/format.h>

#include "platform/errors.hpp"
#include "tests/cuda_host/cublaslt_double.hpp"
#include "tests/cuda_host/cudnn_double.hpp"
#include "tests/cuda_host/nccl_double.hpp"
#include "tests/cuda_host/played/played_gpu.hpp"

namespace underlap {
namespace cuda_host {
namespace {

using Functions = std::map<std::string, void*>;

ncclResult_t nccl_version(int* version) {
  *version = NcclDouble::api().version;
  return ncclSuccess;
}

Functions nccl_functions() {
  const cuda::NcclApi api = NcclDouble::api();
  return {{"ncclGetVersion", address_of(nccl_version)},
          {"ncclGetErrorString", address_of(api.GetErrorString)},
          {"ncclGetLastError", address_of(api.GetLastError)},
          {"ncclGetUniqueId", address_of(api.GetUniqueId)},
          {"ncclCommInitRankConfig", address_of(api.CommInitRankConfig)},
          {"ncclCommDestroy", address_of(api.CommDestroy)},
          {"ncclCommAbort", address_of(api.CommAbort)},
          {"ncclCommGetAsyncError", address_of(api.CommGetAsyncError)},
          {"ncclGroupStart", address_of(api.GroupStart)},
          {"ncclGroupEnd", address_of(api.GroupEnd)},
          {"ncclAllGather", address_of(api.AllGather)},
          {"ncclReduceScatter", address_of(api.ReduceScatter)},
          {"ncclAllReduce", address_of(api.AllReduce)},
          {"ncclBroadcast", address_of(api.Broadcast)},
          {"ncclSend", address_of(api.Send)},
          {"ncclRecv", address_of(api.Recv)},
          {"ncclMemAlloc", address_of(api.MemAlloc)},
          {"ncclMemFree", address_of(api.MemFree)},
          {"ncclCommRegister", address_of(api.CommRegister)},
          {"ncclCommDeregister", address_of(api.CommDeregister)},
          {"ncclCommWindowRegister", address_of(api.CommWindowRegister)},
          {"ncclCommWindowDeregister", address_of(api.CommWindowDeregister)}};
}

Functions cublaslt_functions() {
  const cuda::CublasLtApi api = CublasLtDouble::api();
  return {{"cublasLtGetVersion", address_of(api.get_version)},
          {"cublasLtGetStatusName", address_of(api.get_status_name)},
          {"cublasLtGetStatusString", address_of(api.get_status_string)},
          {"cublasLtCreate", address_of(api.create)},
          {"cublasLtDestroy", address_of(api.destroy)},
          {"cublasLtMatmulDescCreate", address_of(api.desc_create)},
          {"cublasLtMatmulDescSetAttribute", address_of(api.desc_set)},
          {"cublasLtMatmulDescDestroy", address_of(api.desc_destroy)},
          {"cublasLtMatrixLayoutCreate", address_of(api.layout_create)},
          {"cublasLtMatrixLayoutDestroy", address_of(api.layout_destroy)},
          {"cublasLtMatmulPreferenceCreate", address_of(api.preference_create)},
          {"cublasLtMatmulPreferenceSetAttribute", address_of(api.preference_set)},
          {"cublasLtMatmulPreferenceDestroy", address_of(api.preference_destroy)},
          {"cublasLtMatmulAlgoGetHeuristic", address_of(api.get_heuristic)},
          {"cublasLtMatmulAlgoConfigGetAttribute", address_of(api.algo_get)},
          {"cublasLtMatmul", address_of(api.matmul)}};
}

Functions cudnn_functions() {
  const cuda::CudnnApi api = CudnnDouble::api();
  return {{"cudnnGetVersion", address_of(api.get_version)},
          {"cudnnGetErrorString", address_of(api.get_error_string)},
          {"cudnnGetLastErrorString", address_of(api.get_last_error_string)},
          {"cudnnCreate", address_of(api.create)},
          {"cudnnDestroy", address_of(api.destroy)},
          {"cudnnSetStream", address_of(api.set_stream)},
          {"cudnnBackendCreateDescriptor", address_of(api.create_descriptor)},
          {"cudnnBackendDestroyDescriptor", address_of(api.destroy_descriptor)},
          {"cudnnBackendFinalize", address_of(api.finalize)},
          {"cudnnBackendSetAttribute", address_of(api.set_attribute)},
          {"cudnnBackendGetAttribute", address_of(api.get_attribute)},
          {"cudnnBackendExecute", address_of(api.execute)}};
}

/// A library that programs look for.
struct Played {
  const char* name;     ///< begins its file's name
  const char* missing;  ///< the word of UNDERLAP_PLAYED_GPU that takes it away
  Functions (*functions)();
};
constexpr Played kLibraries[] = {{"libcuda.so", "no_driver", played_driver_functions},
                                 {"libnvidia-ml.so", "no_nvml", played_nvml_functions},
                                 {"libcublasLt.so", "no_cublaslt", cublaslt_functions},
                                 {"libcudnn.so", "no_cudnn", cudnn_functions},
                                 {"libnccl.so", "no_nccl", nccl_functions},
                                 {"libcupti.so", "no_cupti", played_cupti_functions}};

}  // namespace
}  // namespace cuda_host

std::vector<std::filesystem::path> library_folders() { return {}; }

SharedLibrary SharedLibrary::open(const std::vector<std::string>& names) {
  for (const cuda_host::Played& library : cuda_host::kLibraries)
    if (names.front().starts_with(library.name) && !cuda_host::PlayedGpu::instance().has(library.missing))
      return {const_cast<cuda_host::Played*>(&library), "/proc/self/exe"};
  throw MachineError(fmt::format("{} was not found (simulated GPU)", names.front()));
}

SharedLibrary SharedLibrary::open_file(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) throw MachineError(file.string() + ": no such file");
  const auto* const found = std::ranges::find_if(cuda_host::kLibraries, [](const cuda_host::Played& library) {
    return std::string_view(library.name) == "libnccl.so";  // the one that is opened so
  });
  return {const_cast<cuda_host::Played*>(found), file};
}

void* SharedLibrary::find(const char* symbol) const {
  static std::map<const void*, cuda_host::Functions> opened;
  const auto* const library = static_cast<const cuda_host::Played*>(handle_);
  if (!opened.contains(library)) opened[library] = library->functions();
  const auto found = opened[library].find(symbol);
  return found == opened[library].end() ? nullptr : found->second;
}

void* SharedLibrary::find_required(const char* symbol) const {
  if (void* address = find(symbol)) return address;
  throw MachineError(fmt::format("{} has no {}: another version is needed", path_.string(), symbol));
}

}  // namespace underlap
