// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "impl/plan/plan.hpp"
#include "profiler/trace/rank_layout.hpp"

namespace underlap::plan {

/// How a plan's ranks are numbered, as Megatron does: of the dense layers tensor, context, data and pipeline
/// parallelism, the first innermost; of experts tensor, expert, data and pipeline parallelism, where there are several
/// expert-parallel ranks. Gradients of dense layers are reduced over context and data parallelism together.
RankLayouts rank_layouts(const Plan& plan);

}  // namespace underlap::plan
