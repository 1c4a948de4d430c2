// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "impl/plan/config/parallel_config.hpp"
#include "profiler/trace/rank_layout.hpp"

namespace underlap::plan {

/// How the ranks of a configuration are numbered, as in Megatron. Dense layers: tensor, context, data and pipeline
/// parallelism, the first innermost. Experts, where there are several expert-parallel ranks: tensor, expert, data and
/// pipeline parallelism. Gradients of dense layers are reduced over context and data parallelism together.
RankLayouts rank_layouts(const ParallelConfig& parallel);

}  // namespace underlap::plan
