// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace underlap::kernels {

/// One operation as `underlap list kernels` shows it.
struct KernelInfo {
  std::string_view folder;  ///< where it is written: kernels/<folder>/
  std::string_view name;    ///< of the operation, and of the function that makes it
  std::string_view what;    ///< one line, with the shapes
  std::string_view cost;    ///< floating-point operations and traffic
};

/// Every operation, by folder in the order of kernels/CMakeLists.txt. Valid for the life of the process.
std::span<const KernelInfo> registered_kernels();

}  // namespace underlap::kernels
