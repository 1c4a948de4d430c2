// SPDX-License-Identifier: Apache-2.0
#include "impl/device/distinct_launches.hpp"

#include <cstdint>

namespace underlap {
namespace {

constexpr std::int64_t kAlignment = 16;          // bytes that a thread moves at once
constexpr std::int64_t kProductAlignment = 256;  // the alignment by which cuBLASLt selects a product's kernel

std::string key_of(Stream stream, const Operation& operation) {
  const Work work = operation.cost().work;
  const std::int64_t alignment = work == Work::gemm ? kProductAlignment : kAlignment;
  std::string key;
  const auto add = [&key](const auto&... values) {
    (key.append(reinterpret_cast<const char*>(&values), sizeof(values)), ...);
  };
  add(stream.id, operation.name(), operation.cost().sm_margin);
  for (const auto& [view, access] : operation.uses())
    add(view.tensor.dtype, view.rows, view.cols, view.leading_dimension,
        view.offset * size_of(view.tensor.dtype) % alignment);
  // For products and attention the parameters affect the choice of kernel. For other operations they differ every time.
  if (work == Work::gemm || work == Work::attention_forward || work == Work::attention_backward)
    key.append(reinterpret_cast<const char*>(operation.parameters()), Operation::kParameterBytes);
  return key;
}

}  // namespace

void DistinctLaunches::launch(Stream stream, const Tag&, const Operation& operation) {
  if (seen_.insert(key_of(stream, operation)).second) launches_.push_back({stream, operation});
}

}  // namespace underlap
