// SPDX-License-Identifier: Apache-2.0
#include "profiler/trace/compute_class.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "profiler/trace/enum_names.hpp"

namespace underlap {
namespace {

constexpr EnumNames<ComputeClass, kNumComputeClasses> kClasses{{"attention", "grouped_gemm", "gemm", "other"}};

// The first that matches counts. nvjet and xmma are cuBLAS, Cijk is hipBLASLt.
constexpr std::array<std::pair<std::string_view, ComputeClass>, 22> kWords{{
    {"attention", ComputeClass::attention},
    {"attn", ComputeClass::attention},
    {"flash", ComputeClass::attention},
    {"fmha", ComputeClass::attention},
    {"sdpa", ComputeClass::attention},
    {"flex_att", ComputeClass::attention},
    {"grouped_gemm", ComputeClass::grouped_gemm},
    {"groupedgemm", ComputeClass::grouped_gemm},
    {"group_gemm", ComputeClass::grouped_gemm},
    {"grouped_mm", ComputeClass::grouped_gemm},
    {"gemmgrouped", ComputeClass::grouped_gemm},
    {"gemm_grouped", ComputeClass::grouped_gemm},
    {"groupproblem", ComputeClass::grouped_gemm},
    {"moe_gemm", ComputeClass::grouped_gemm},
    {"fused_moe", ComputeClass::grouped_gemm},
    {"gemm", ComputeClass::gemm},
    {"nvjet", ComputeClass::gemm},
    {"xmma", ComputeClass::gemm},
    {"cijk_", ComputeClass::gemm},
    {"matmul", ComputeClass::gemm},
    {"gemv", ComputeClass::gemm},
    {"aten::mm", ComputeClass::gemm},
}};

}  // namespace

std::string_view to_string(ComputeClass of) { return kClasses[of]; }

ComputeClass compute_class_of(std::string_view kernel) {
  std::string lower(kernel);
  for (char& c : lower)
    if ('A' <= c && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  for (const auto& [word, of] : kWords)
    if (lower.find(word) != std::string::npos) return of;
  return ComputeClass::other;
}

ComputeClass ComputeClasses::of(NameId name) {
  const auto id = static_cast<std::size_t>(name);
  if (id >= known_.size()) known_.resize(std::max(id + 1, 2 * known_.size()), -1);
  if (known_[id] < 0) known_[id] = static_cast<std::int8_t>(compute_class_of(name_of(name)));
  return static_cast<ComputeClass>(known_[id]);
}

}  // namespace underlap
