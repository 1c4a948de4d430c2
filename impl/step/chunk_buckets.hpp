// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "impl/dp/bucket_layout.hpp"
#include "impl/model/parameters.hpp"
#include "impl/plan/plan.hpp"

namespace underlap {

/// The weights of a stage's chunk as one tensor-parallel rank holds them, fp8 ones marked.
model::ModelParameters chunk_parameters(const plan::Config& config, std::int32_t stage, std::int32_t chunk,
                                        model::TensorRank tensor);

/// How the weights of a stage's chunk are cut into buckets. As in Megatron only the first chunk of the first stage is
/// cut, and none with overlap_param_gather_with_optimizer_step: what the others exchange hides in the pipeline's
/// bubble. With extensions.bucket_every_stage all are.
dp::BucketLayout bucket_layout(const plan::Config& config, std::int32_t stage = 0, std::int32_t chunk = 0);

/// The data-parallel buckets of every chunk of every stage.
std::vector<plan::ChunkBuckets> chunk_buckets(const plan::Config& config);

}  // namespace underlap
