// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include "impl/dp/technique.hpp"
#include "kernels/segments/segments.hpp"

namespace underlap::dp {

/// Allocates the buffers of `buffers` that fp8 parameters need, if its layout has any. `gathered` registers the memory
/// that is gathered.
void allocate_fp8(Device& device, Buffers& buffers, const Registration& gathered = {});

/// Parameters that are stored and gathered in fp8. Casts this rank's shards to fp8 after the optimizer's update.
///
/// A weight has one scale, so all ranks need its largest magnitude, but each knows only that of its shard:
///
///   compute | adam | amax of each shard |            | scales | quantize each shard |
///   dp      |                           | all-reduce |                              | ag, as bytes ...
///
/// One all-reduce combines the amaxes of all weights of a model chunk. One kernel per bucket runs before it and one
/// after it, regardless of the weights in a shard, so that all ranks do the same. Exposed: all of it, a latency; the
/// gather after it moves half the bytes. Source: Megatron Core's fp8_param_gather with Transformer Engine's current
/// scaling.
class Fp8Parameters {
 public:
  /// What `context` points to outlives this. Allocates on the device.
  explicit Fp8Parameters(const Context& context);

  /// Without fp8 parameters these enqueue nothing.
  ///
  /// Enqueues the initialization of the offsets of parameters within each bucket.
  void initialize(const Tag& tag);

  /// Enqueues the cast of this rank's shards of all fp8 parameters, padding included, which must be 0 in the main
  /// parameters.
  ///
  /// tag         of the optimizer; purposes are param_amax, param_amax_all_reduce, param_quantize
  /// main_shard  by bucket: this rank's main parameters, f32, as many elements as its shard
  void update(const Tag& tag, const std::function<View(std::int32_t bucket)>& main_shard);

 private:
  void launch(Tag tag, NameId purpose, const Operation& operation) const;
  void all_reduce(const Tag& tag) const;
  /// The fp8_index of a bucket's first parameter, and how many it has.
  struct Range {
    std::int64_t first = 0;
    std::int64_t num = 0;
  };
  Range range_of(std::int32_t b) const;
  /// The elements of `by_parameter` [layout.num_fp8] that belong to the parameters of fp8 bucket `b`.
  View of_bucket(const Tensor& by_parameter, std::int32_t b) const;
  kernels::Segments segments(std::int32_t b) const;

  Context context_;
  std::int32_t num_buckets_ = 0;  // fp8 ones, which come first
  Tensor begins_;                 // i32 [layout.num_fp8]: from the start of each one's bucket, in kSegmentUnit
  Tensor amaxes_;                 // f32 [layout.num_fp8]
};

}  // namespace underlap::dp
