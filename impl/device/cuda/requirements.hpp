// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace underlap::cuda {

/// What CUDA reports about a machine: for each query a status (0: success) and a number.
struct CudaQueries {
  int runtime_version = 0;                                ///< of the runtime in this program: 1000 * major + 10 * minor
  int (*driver_version)(int* version) = {};               ///< cuDriverGetVersion; null: no driver is installed
  int (*initialize)(unsigned flags) = {};                 ///< cuInit
  int (*device_count)(int* count) = {};                   ///< cuDeviceGetCount
  int (*error_text)(int status, const char** text) = {};  ///< cuGetErrorString
  std::string why_no_driver;                              ///< the loader's message, if there is none
};

/// The queries of this machine: loads the driver's library.
CudaQueries system_cuda_queries();

/// Checks that this machine can run `needed_gpus` ranks, each on its own GPU.
///
/// A driver is new enough if its major version is the runtime's or later: within a major version CUDA guarantees that
/// older drivers run newer runtimes.
///
/// Throws MachineError if there is no driver, the driver is older than the runtime, or no GPU is usable;
/// std::invalid_argument if there are fewer GPUs than ranks. The message's first line describes the problem, the second
/// the fix.
void check_cuda_machine(std::int32_t needed_gpus, const CudaQueries& queries);
void check_cuda_machine(std::int32_t needed_gpus);

}  // namespace underlap::cuda
