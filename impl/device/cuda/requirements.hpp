// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace underlap::cuda {

/// What a machine says of its CUDA, each answer as CUDA gives it: a status (0: well) and a number.
struct CudaQueries {
  int runtime_version = 0;                   ///< of the runtime that this program carries: 1000 * major + 10 * minor
  int (*driver_version)(int* version) = {};  ///< cuDriverGetVersion; null: no driver is installed
  int (*initialise)(unsigned flags) = {};    ///< cuInit
  int (*device_count)(int* count) = {};      ///< cuDeviceGetCount
  int (*error_text)(int status, const char** text) = {};  ///< cuGetErrorString
  std::string why_no_driver;                              ///< in the loader's words, where there is none
};

/// Of this machine: the driver's library is looked for and opened.
CudaQueries system_cuda_queries();

/// Makes sure that this machine can run `needed_gpus` ranks, each on a GPU of its own.
///
/// A driver is new enough where its major version is the runtime's or a later one: within a major version CUDA promises
/// that older drivers run newer runtimes.
/// Throws MachineError where there is no driver, the driver is older than the runtime, or no GPU can be used;
/// std::invalid_argument where there are fewer GPUs than ranks. One line says what, the next how to mend it.
void check_cuda_machine(std::int32_t needed_gpus, const CudaQueries& queries);
void check_cuda_machine(std::int32_t needed_gpus);

}  // namespace underlap::cuda
