// SPDX-License-Identifier: Apache-2.0
#include "impl/plan/layout/chunk_buckets.hpp"

#include "impl/plan/layout/parameters.hpp"
#include "impl/plan/modes/mode_rules.hpp"
#include "impl/plan/rules/resolution.hpp"

namespace underlap::plan {
namespace {

bool is_cut(const Config& config, std::int32_t stage, std::int32_t chunk) {
  // Without any overlap there is nothing to cut for: one bucket, one collective each way.
  if (!config.ddp.overlap_grad_reduce && !config.ddp.overlap_param_gather) return false;
  if (config.optimizer.overlap_param_gather_with_optimizer_step) return false;
  return config.extensions.bucket_every_stage || (stage == 0 && chunk == 0);
}

}  // namespace

std::int32_t instance_size(const Config& config) {
  return static_cast<std::int32_t>(config.parallel.num_replicas() / config.ddp.num_distributed_optimizer_instances);
}

ModelParameters chunk_parameters(const Config& config, std::int32_t stage, std::int32_t chunk, TensorRank tensor) {
  const LayerRange range = layers_of(config, stage, chunk);
  ModelParameters parameters = list_parameters(config.model, tensor, range);
  mark_fp8_weights(parameters, config);
  return parameters;
}

BucketLayout bucket_layout(const Config& config, std::int32_t stage, std::int32_t chunk) {
  // Parts of a weight are equal, so every tensor-parallel rank has the same layout.
  return lay_out(chunk_parameters(config, stage, chunk, {ranks_sharing(Shared::weights, config.parallel), 0}).all,
                 {.bucket_size = is_cut(config, stage, chunk) ? config.ddp.bucket_size : std::nullopt,
                  .num_shards = instance_size(config),
                  .pad_buckets_for_high_nccl_busbw = config.ddp.pad_buckets_for_high_nccl_busbw,
                  .pads = config.ddp.use_distributed_optimizer,
                  .one_bucket_a_group = config.ddp.reduce_scatter_with_fp32_accumulation});
}

std::vector<ChunkBuckets> chunk_buckets(const Config& config) {
  std::vector<ChunkBuckets> all;
  for (std::int32_t stage = 0; stage < config.parallel.num_stages(); ++stage)
    for (std::int32_t chunk = 0; chunk < config.parallel.chunks_of_stage(); ++chunk) {
      ChunkBuckets& buckets = all.emplace_back(ChunkBuckets{stage, chunk, {}});
      for (const Bucket& bucket : bucket_layout(config, stage, chunk).buckets)
        buckets.elements.push_back(bucket.elements());
    }
  return all;
}

void lay_out_buckets(Resolution& r) {
  if (r.problems.empty()) r.plan.buckets = chunk_buckets(r.config());
}

}  // namespace underlap::plan
