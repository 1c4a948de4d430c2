// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string_view>

#include "platform/errors.hpp"

namespace underlap::cuda {

void check(cudaError_t code, const std::source_location& where) {
  if (code == cudaSuccess) return;
  std::string_view file = where.file_name();
  file.remove_prefix(std::min(file.size(), file.rfind('/') + 1));
  throw MachineError(
      fmt::format("{}: {} ({}:{})", cudaGetErrorName(code), cudaGetErrorString(code), file, where.line()));
}

void refuse(const char* rule, std::int64_t value) {
  throw std::invalid_argument(fmt::format("{}, not {}", rule, value));
}

}  // namespace underlap::cuda
