// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include "impl/device/cuda/requirements.hpp"
#include "platform/errors.hpp"
#include "platform/nvidia_library.hpp"

namespace underlap::cuda {

CudaQueries system_cuda_queries() {
  CudaQueries queries;
  queries.runtime_version = CUDART_VERSION;  // the runtime is linked statically: it is the one of these headers
  try {
    const SharedLibrary driver = open_library(NvidiaLibrary::driver);
    driver.require("cuDriverGetVersion", queries.driver_version);
    driver.require("cuInit", queries.initialize);
    driver.require("cuDeviceGetCount", queries.device_count);
    driver.find("cuGetErrorString", queries.error_text);
  } catch (const MachineError& error) {
    queries.driver_version = nullptr;
    queries.why_no_driver = error.what();
  }
  return queries;
}

}  // namespace underlap::cuda
