// SPDX-License-Identifier: Apache-2.0
//
// cuDNN is opened at run time, not linked: the program builds and starts on machines without it. Every function is
// found by its name. The version is checked first, so that an old library is refused by its number and not by a missing
// function.
#include "kernels/attention/cudnn_api.hpp"

#include <fmt/format.h>

#include <array>

#include "platform/errors.hpp"
#include "platform/nvidia_library.hpp"

namespace underlap::cuda {

CudnnApi CudnnApi::load() {
  const SharedLibrary library = open_library(NvidiaLibrary::cudnn);
  CudnnApi api;
  library.require("cudnnGetVersion", api.get_version);
  require_release(NvidiaLibrary::cudnn, static_cast<std::int64_t>(api.get_version()), library);
  library.require("cudnnGetErrorString", api.get_error_string);
  library.require("cudnnGetLastErrorString", api.get_last_error_string);
  library.require("cudnnCreate", api.create);
  library.require("cudnnDestroy", api.destroy);
  library.require("cudnnSetStream", api.set_stream);
  library.require("cudnnBackendCreateDescriptor", api.create_descriptor);
  library.require("cudnnBackendDestroyDescriptor", api.destroy_descriptor);
  library.require("cudnnBackendFinalize", api.finalize);
  library.require("cudnnBackendSetAttribute", api.set_attribute);
  library.require("cudnnBackendGetAttribute", api.get_attribute);
  library.require("cudnnBackendExecute", api.execute);
  return api;
}

std::string CudnnApi::version() const { return release_text(static_cast<std::int64_t>(get_version())); }

std::string CudnnApi::text(cudnnStatus_t status) const {
  std::array<char, 512> reason{};
  get_last_error_string(reason.data(), reason.size());
  const std::string_view why(reason.data());
  return fmt::format("{}{}{}", get_error_string(status), why.empty() ? "" : ": ", why);
}

void CudnnApi::check(cudnnStatus_t status, std::string_view doing) const {
  if (status == CUDNN_STATUS_SUCCESS) return;
  throw MachineError(fmt::format("cuDNN {}, {}: {}", version(), doing, text(status)));
}

CudnnDescriptor make_descriptor(const CudnnApi& api, cudnnBackendDescriptorType_t type) {
  cudnnBackendDescriptor_t descriptor = nullptr;
  api.check(api.create_descriptor(type, &descriptor), "making a descriptor");
  return {descriptor, api.destroy_descriptor};
}

}  // namespace underlap::cuda
