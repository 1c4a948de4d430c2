// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "impl/plan/layout/bucket_layout.hpp"
#include "impl/plan/layout/parameters.hpp"
#include "impl/plan/plan.hpp"

namespace underlap::plan {

/// Data- and context-parallel ranks of one optimizer instance.
std::int32_t instance_size(const Config& config);

/// The weights of a stage's chunk as one tensor-parallel rank holds them, fp8 ones marked.
ModelParameters chunk_parameters(const Config& config, std::int32_t stage, std::int32_t chunk, TensorRank tensor);

/// How the weights of a stage's chunk are cut into buckets. As in Megatron only the first chunk of the first stage is
/// cut, and none with overlap_param_gather_with_optimizer_step: what the others exchange hides in the pipeline's
/// bubble. With extensions.bucket_every_stage all are.
///
/// The only place where buckets are laid out: Plan::buckets lists what it answers for every chunk, and a rank that
/// builds a chunk of its stage takes the chunk's layout from it, once. Both ask by the configuration alone, so what a
/// plan shows is what runs.
BucketLayout bucket_layout(const Config& config, std::int32_t stage = 0, std::int32_t chunk = 0);

/// The data-parallel buckets of every chunk of every stage, as a plan lists them.
std::vector<ChunkBuckets> chunk_buckets(const Config& config);

}  // namespace underlap::plan
