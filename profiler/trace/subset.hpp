// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "profiler/trace/trace.hpp"

namespace underlap {

/// All that a trace has of some ranks, and of their slices those that are wanted. A flow stays where both of its slices
/// do. Null: every rank, every slice.
Trace subset(const Trace& trace, const std::function<bool(std::int32_t rank)>& has_rank,
             const std::function<bool(std::size_t slice)>& has_slice = {});

}  // namespace underlap
