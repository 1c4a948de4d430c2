// SPDX-License-Identifier: Apache-2.0
//
// cuBLASLt is opened when the program runs, not linked: the program builds and starts where there is none, and takes
// the release that is there. Every function is found by its name, after the version has been asked.
#include "kernels/gemm/cublaslt_api.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "platform/errors.hpp"
#include "platform/shared_library.hpp"

namespace underlap::cuda {
namespace {

// What version() counts in: 10000 a major release, 100 a minor one. CUDA 12.4 Update 1: before it, calls took the host
// longer, and some raised floating-point exceptions on Hopper.
constexpr std::size_t kOldestCublasLt = 120'405;

std::string cublaslt_version_text(std::size_t version) {
  return fmt::format("{}.{}.{}", version / 10'000, version / 100 % 100, version % 100);
}

// The descriptors are made by the library, so that a neighbouring release's layout of them does no harm.
std::vector<std::string> library_names() {
  if (CUBLAS_VER_MAJOR >= 13) return {"libcublasLt.so.13", "libcublasLt.so.12"};
  return {"libcublasLt.so.12", "libcublasLt.so.13"};
}

}  // namespace

CublasLtApi CublasLtApi::load() {
  const SharedLibrary library = SharedLibrary::open(library_names());
  CublasLtApi api;
  library.require("cublasLtGetVersion", api.get_version);
  const std::size_t version = api.get_version();
  if (version < kOldestCublasLt)
    throw MachineError(fmt::format("{} is cuBLASLt {}; {} or newer is needed", library.path().string(),
                                   cublaslt_version_text(version), cublaslt_version_text(kOldestCublasLt)));
  library.require("cublasLtGetStatusName", api.get_status_name);
  library.require("cublasLtGetStatusString", api.get_status_string);
  library.require("cublasLtCreate", api.create);
  library.require("cublasLtDestroy", api.destroy);
  library.require("cublasLtMatmulDescCreate", api.desc_create);
  library.require("cublasLtMatmulDescSetAttribute", api.desc_set);
  library.require("cublasLtMatmulDescDestroy", api.desc_destroy);
  library.require("cublasLtMatrixLayoutCreate", api.layout_create);
  library.require("cublasLtMatrixLayoutDestroy", api.layout_destroy);
  library.require("cublasLtMatmulPreferenceCreate", api.preference_create);
  library.require("cublasLtMatmulPreferenceSetAttribute", api.preference_set);
  library.require("cublasLtMatmulPreferenceDestroy", api.preference_destroy);
  library.require("cublasLtMatmulAlgoGetHeuristic", api.get_heuristic);
  library.require("cublasLtMatmulAlgoConfigGetAttribute", api.algo_get);
  library.require("cublasLtMatmul", api.matmul);
  return api;
}

std::string CublasLtApi::version() const { return cublaslt_version_text(get_version()); }

void CublasLtApi::check(cublasStatus_t status, const std::source_location& where) const {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  std::string_view file = where.file_name();
  file.remove_prefix(std::min(file.size(), file.rfind('/') + 1));
  throw MachineError(fmt::format("cuBLASLt {}: {}: {} ({}:{})", version(), get_status_name(status),
                                 get_status_string(status), file, where.line()));
}

}  // namespace underlap::cuda
