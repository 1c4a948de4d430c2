// SPDX-License-Identifier: Apache-2.0
#include "impl/step/chunk_buckets.hpp"

#include "impl/model/fp8_weights.hpp"
#include "impl/step/groups.hpp"

namespace underlap {
namespace {

bool is_cut(const plan::Config& config, std::int32_t stage, std::int32_t chunk) {
  // Without any overlap there is nothing to cut for: one bucket, one collective each way.
  if (!config.ddp.overlap_grad_reduce && !config.ddp.overlap_param_gather) return false;
  if (config.optimizer.overlap_param_gather_with_optimizer_step) return false;
  return config.extensions.bucket_every_stage || (stage == 0 && chunk == 0);
}

}  // namespace

model::ModelParameters chunk_parameters(const plan::Config& config, std::int32_t stage, std::int32_t chunk,
                                        model::TensorRank tensor) {
  const model::LayerRange range = model::layers_of(config, stage, chunk);
  model::ModelParameters parameters = model::list_parameters(config.model, tensor, range);
  model::mark_fp8_weights(parameters, config);
  return parameters;
}

dp::BucketLayout bucket_layout(const plan::Config& config, std::int32_t stage, std::int32_t chunk) {
  // Parts of a weight are equal, so every tensor-parallel rank has the same layout.
  return dp::lay_out(chunk_parameters(config, stage, chunk, {config.parallel.tensor_model_parallel_size, 0}).all,
                     {.bucket_size = is_cut(config, stage, chunk) ? config.ddp.bucket_size : std::nullopt,
                      .num_shards = instance_size(config),
                      .pad_buckets_for_high_nccl_busbw = config.ddp.pad_buckets_for_high_nccl_busbw,
                      .one_bucket_a_group = config.ddp.reduce_scatter_with_fp32_accumulation});
}

std::vector<plan::ChunkBuckets> chunk_buckets(const plan::Config& config) {
  std::vector<plan::ChunkBuckets> all;
  for (std::int32_t stage = 0; stage < config.parallel.pipeline_model_parallel_size; ++stage)
    for (std::int32_t chunk = 0; chunk < config.parallel.virtual_pipeline_model_parallel_size; ++chunk) {
      plan::ChunkBuckets& buckets = all.emplace_back(plan::ChunkBuckets{stage, chunk, {}});
      for (const dp::Bucket& bucket : bucket_layout(config, stage, chunk).buckets)
        buckets.elements.push_back(bucket.elements());
    }
  return all;
}

}  // namespace underlap
