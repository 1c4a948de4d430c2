// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "profiler/trace/name.hpp"

namespace underlap {

/// What a kernel computes.
enum class ComputeClass : std::uint8_t { attention, grouped_gemm, gemm, other };
inline constexpr std::size_t kNumComputeClasses = 4;

/// "attention", "grouped_gemm", "gemm", "other".
std::string_view to_string(ComputeClass);
constexpr ComputeClass last_value(ComputeClass) { return ComputeClass::other; }

/// The class of a kernel by the words in its name, ignoring case. Fails when a library uses other names: its kernels
/// then count as other.
ComputeClass compute_class_of(std::string_view kernel);

/// The classes of names, each evaluated once.
class ComputeClasses {
 public:
  ComputeClass of(NameId);

 private:
  std::vector<std::int8_t> known_;  // by name; -1: not evaluated
};

}  // namespace underlap
