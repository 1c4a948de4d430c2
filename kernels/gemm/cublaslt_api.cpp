// SPDX-License-Identifier: Apache-2.0
//
// cuBLASLt is opened at run time, not linked: the program builds and starts on machines without it, and uses the
// installed release. Every function is found by its name, after the version has been checked.
#include "kernels/gemm/cublaslt_api.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "platform/errors.hpp"
#include "platform/nvidia_library.hpp"

namespace underlap::cuda {
namespace {

// The descriptors are made by the library, so that a neighboring release's layout of them does no harm.
SharedLibrary open_release_of_this_build() {
  std::vector<std::string> files = entry_of(NvidiaLibrary::cublaslt).files;
  if (CUBLAS_VER_MAJOR < 13) std::ranges::reverse(files);
  return SharedLibrary::open(files);
}

}  // namespace

CublasLtApi CublasLtApi::load() {
  const SharedLibrary library = open_release_of_this_build();
  CublasLtApi api;
  library.require("cublasLtGetVersion", api.get_version);
  require_release(NvidiaLibrary::cublaslt, static_cast<std::int64_t>(api.get_version()), library);
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

std::string CublasLtApi::version() const { return release_text(static_cast<std::int64_t>(get_version())); }

void CublasLtApi::check(cublasStatus_t status, const std::source_location& where) const {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  std::string_view file = where.file_name();
  file.remove_prefix(std::min(file.size(), file.rfind('/') + 1));
  throw MachineError(fmt::format("cuBLASLt {}: {}: {} ({}:{})", version(), get_status_name(status),
                                 get_status_string(status), file, where.line()));
}

}  // namespace underlap::cuda
