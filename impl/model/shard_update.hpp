// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "impl/dp/fp8_parameters.hpp"
#include "impl/model/weights.hpp"
#include "impl/plan/config.hpp"

namespace underlap::model {

/// The weights of one chunk, for the optimizer. What it points to outlives the optimizer.
struct OptimizedChunk {
  const dp::Buffers* buffers = nullptr;
  dp::Fp8Parameters* fp8 = nullptr;
  const plan::ModelParameters* parameters = nullptr;
};

/// Adam on this rank's shards of one chunk: fp32 main parameters and moments, bf16 parameters out; fp8 ones through
/// `OptimizedChunk::fp8`.
class ShardUpdate {
 public:
  /// Allocates on `device`.
  ShardUpdate(Device& device, const plan::Config& config, const OptimizedChunk& chunk, plan::TensorRank tensor);

  /// Enqueues the initial weights: parameters on every rank alike, main parameters of this rank's shards.
  void initialize(const Enqueue& enqueue);

  /// What all chunks of a rank share.
  struct Shared {
    View grad_factor;  ///< [1] f32: what gradients are multiplied by
    View nonfinite;    ///< [1] i32, set where a gradient is infinite or NaN
  };
  /// Enqueues the update from the reduced gradients; `num_updates` were made before it.
  void update(const Enqueue& enqueue, const Shared& shared, std::int32_t num_updates);

  /// Adds to `sum` [1] f32 the squares of the gradients in this rank's shards, each weight counted on one rank of those
  /// that hold it.
  void add_squares(const Enqueue& enqueue, const View& sum) const;

 private:
  // Fills a view that starts `first` elements after the start of its range.
  using Fill = std::function<Operation(const View& view, std::int64_t first)>;

  const dp::Buffers& buffers() const { return *chunk_.buffers; }
  bool is_counted(const plan::Parameter& parameter) const;
  bool counts_some() const;
  void fill_padding(const Enqueue& enqueue, std::int32_t b);
  void fill_parameter(const Enqueue& enqueue, std::int32_t parameter);
  void fill_range(const Enqueue& enqueue, std::int32_t b, std::int64_t begin, std::int64_t end, const Fill& fill);
  void upload_counted(const Enqueue& enqueue) const;
  View counted_in(std::int32_t bucket) const;
  View main_shard(const Tensor& buffer, std::int32_t b) const;

  plan::Config config_;
  OptimizedChunk chunk_;
  plan::TensorRank tensor_;
  std::vector<std::int64_t> shard_offset_;  // by bucket: where its shard lies in the main buffers
  Tensor main_;                             // f32 [elements of all shards]
  Tensor m_;
  Tensor v_;
  Tensor counted_;  // [weights, 2] f64: by bucket, what of its shard is counted in the gradient norm, where not all is
};

}  // namespace underlap::model
