// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <string_view>

#include "impl/plan/tensor_overlap.hpp"

namespace underlap::plan {

/// The kinds of techniques that carry out a slot.
enum class SlotTechnique : std::uint8_t { gather_gemm, gemm_scatter, collective_during_gemm, wgrad_drain };

/// The part of a slot's settings that selects its technique.
struct SlotKey {
  TensorMethod method{};
  std::set<std::string_view> with = {};  ///< names of the flags that are on, of those that choose among its kind

  friend bool operator==(const SlotKey&, const SlotKey&) = default;
};

SlotKey slot_key(SlotTechnique kind, const TensorSlotOverlap& overlap);

}  // namespace underlap::plan
