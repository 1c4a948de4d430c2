// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "impl/device/scope.hpp"
#include "impl/device/technique.hpp"
#include "impl/plan/layout/bucket_layout.hpp"

namespace underlap::plan {
struct Config;
}

namespace underlap::dp {

/// The buffers that data parallelism works on, on one rank. Weights and gradients are views into them.
struct Buffers {
  std::vector<plan::Parameter> parameters;  ///< in the order of the forward pass
  plan::BucketLayout layout;
  Group group;             ///< that the shards are spread over: one optimizer instance
  Tensor params;           ///< bf16 [layout.elements - layout.fp8_elements]
  Tensor fp8_params;       ///< f8e4m3 [layout.fp8_elements]; no tensor where that is 0
  Tensor inverse_scales;   ///< f32 [layout.num_fp8, kernels::kScaleStride], by fp8_index, the first of each row; no
                           ///< tensor where there are none
  Tensor grads;            ///< f32 or bf16 [layout.elements]: accumulated and sent in this type
  bool is_sharded = true;  ///< the distributed optimizer: each rank updates its shard of every bucket

  std::vector<std::int32_t> all_buckets() const;
  /// `buffer` is laid out as the gradients are.
  View bucket(const Tensor& buffer, std::int32_t b) const;
  /// What this rank updates: its part of the bucket, or all of it without the distributed optimizer.
  View shard(const Tensor& buffer, std::int32_t b) const;
  /// The same of the parameters, in the type that they are stored in.
  View param_bucket(std::int32_t b) const;
  View param_shard(std::int32_t b) const;
  View weight(std::int32_t parameter) const;         ///< bf16 or f8e4m3 [rows, cols]
  View inverse_scale(std::int32_t parameter) const;  ///< f32 [1, 1] of an fp8 parameter
  /// f32 [num, 1] of fp8 parameters, from the one of that fp8_index on.
  View inverse_scales_from(std::int64_t first, std::int64_t num) const;
  View main_grad(std::int32_t parameter) const;  ///< [rows, cols]
  /// Where the parameters lie whose gradients are `view`.
  View as_parameters(View view) const;
};

/// What every technique of this folder works with. Communicators may be the same one.
struct Context {
  Device* device = nullptr;
  const Buffers* buffers = nullptr;
  Stream compute;
  Communicator reduce;  ///< of the buffers' group, as `gather`
  Communicator gather;
  std::optional<Communicator> across_instances;  ///< ranks with the same shard; none with one instance
  const plan::Config* config = nullptr;
  bool schedule_starts = false;  ///< a pipeline's schedule starts the overlapped collectives: see start()

  Scope scope() const { return {*device, compute, Mode::dp}; }
};

/// Brings each bucket's gradients together over the data-parallel group, all instances.
class GradReduce {
 public:
  virtual ~GradReduce() = default;

  virtual void begin_step(std::int32_t step) = 0;

  /// In the last microbatch, an operation that adds to the gradients of `parameters` has been enqueued on the compute
  /// stream.
  virtual void after_wgrad(std::span<const std::int32_t> parameters) = 0;

  /// Called by the schedule to start overlapped reductions. Until then, with schedule_starts, complete buckets wait.
  virtual void start() {}

  /// Makes the compute stream wait until every shard holds the gradient averaged over the group.
  virtual void finish() = 0;
};

/// Brings each bucket's updated parameters together before they are used.
class ParamGather {
 public:
  virtual ~ParamGather() = default;

  /// Called when the shards were updated on the compute stream; the rest of each bucket is stale.
  virtual void begin_step(std::int32_t step) = 0;

  /// Called by the schedule to start overlapped gathers: all buckets at once, before their first use.
  virtual void start() {}

  /// Makes the compute stream wait until `parameters`, which the next operation uses, are whole. Idempotent within a
  /// step.
  virtual void before_use(std::span<const std::int32_t> parameters) = 0;
};

/// What decides how gradients are reduced.
struct GradReduceKey {
  bool overlap = false;
  bool fp32_accumulation = false;  ///< of the sums; with shards only

  friend bool operator==(const GradReduceKey&, const GradReduceKey&) = default;
};
GradReduceKey grad_reduce_key(const plan::Config& config);

/// What decides how parameters are gathered.
struct ParamGatherKey {
  bool is_sharded = true;  ///< by the distributed optimizer; else nothing is gathered
  bool overlap = false;    ///< with shards only

  friend bool operator==(const ParamGatherKey&, const ParamGatherKey&) = default;
};
ParamGatherKey param_gather_key(const plan::Config& config);

using GradReduces = Techniques<GradReduce, Context, grad_reduce_key>;
using ParamGathers = Techniques<ParamGather, Context, param_gather_key>;

/// Gathers the parameters of `buckets` as one group on the gather communicator. The caller orders it after the shards'
/// update on the compute stream. Returns when they are there.
Event gather(const Context& context, const std::vector<std::int32_t>& buckets, std::int32_t step);

/// The one that `context.config` puts in effect.
inline std::unique_ptr<GradReduce> make_grad_reduce(const Context& context) {
  return GradReduces::make(*context.config, context);
}
inline std::unique_ptr<ParamGather> make_param_gather(const Context& context) {
  return ParamGathers::make(*context.config, context);
}

}  // namespace underlap::dp
