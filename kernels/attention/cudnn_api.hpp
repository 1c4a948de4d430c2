// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cudnn_graph.h>

#include <memory>
#include <string>
#include <string_view>

namespace underlap::cuda {

/// The functions of cuDNN that Underlap calls, found when the program runs, or given by a test.
struct CudnnApi {
  decltype(&cudnnGetVersion) get_version = nullptr;
  decltype(&cudnnGetErrorString) get_error_string = nullptr;
  decltype(&cudnnGetLastErrorString) get_last_error_string = nullptr;
  decltype(&cudnnCreate) create = nullptr;
  decltype(&cudnnDestroy) destroy = nullptr;
  decltype(&cudnnSetStream) set_stream = nullptr;
  decltype(&cudnnBackendCreateDescriptor) create_descriptor = nullptr;
  decltype(&cudnnBackendDestroyDescriptor) destroy_descriptor = nullptr;
  decltype(&cudnnBackendFinalize) finalize = nullptr;
  decltype(&cudnnBackendSetAttribute) set_attribute = nullptr;
  decltype(&cudnnBackendGetAttribute) get_attribute = nullptr;
  decltype(&cudnnBackendExecute) execute = nullptr;

  /// Opens libcudnn.so.9. Throws MachineError where it is missing, lacks a function, or is older than 9.0.
  static CudnnApi load();

  /// As "9.19.0".
  std::string version() const;

  /// cuDNN's description of a status: its name, and the reason of this thread's last failure.
  std::string text(cudnnStatus_t status) const;

  /// Throws MachineError with `doing` and cuDNN's description, unless `status` is success.
  void check(cudnnStatus_t status, std::string_view doing) const;
};

/// A descriptor of cuDNN's graph interface, given back at its end.
using CudnnDescriptor = std::unique_ptr<void, cudnnStatus_t (*)(cudnnBackendDescriptor_t)>;

/// A new descriptor, to be filled and finalized. Throws MachineError.
CudnnDescriptor make_descriptor(const CudnnApi& api, cudnnBackendDescriptorType_t type);

}  // namespace underlap::cuda
