// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace underlap::bench {

/// One library of the CUDA backend, as this machine has it.
struct GpuLibrary {
  std::string name;
  std::string version;  ///< empty where it is missing
  std::string where;    ///< its file, or why it is missing
};

/// The driver and the libraries that the CUDA backend opens when it starts, each looked for as the backend does. Works
/// in every build and on every machine, and makes no CUDA context.
std::vector<GpuLibrary> find_gpu_libraries();

}  // namespace underlap::bench
