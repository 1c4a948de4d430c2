// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "impl/model/shard_update.hpp"

namespace underlap::model {

/// Adam on this rank's shards of all its chunks, with one gradient norm where it is clipped.
class Optimizer {
 public:
  /// `norm` is the communicator of the gradient norm: of all ranks that hold another part of the gradients. It is used
  /// only with clip_grad > 0, and not where there is one such rank. Allocates on `device`.
  Optimizer(Device& device, const plan::Config& config, std::span<const OptimizedChunk> chunks, plan::TensorRank tensor,
            const std::optional<Communicator>& norm);

  /// Enqueues the initial weights: parameters on every rank alike, main parameters of this rank's shards.
  /// Matrices are normal with deviation 0.02, those that write to the residual stream scaled down by sqrt(2 layers);
  /// norms are 1. Source: Radford et al. 2019; Megatron's initialization.
  void initialize(const Enqueue& enqueue);

  /// Enqueues what comes before the updates of a step: the gradient norm, where it is clipped.
  void begin_step(const Enqueue& enqueue);

  /// Enqueues the update of a chunk from its reduced gradients; `num_updates` were made before it.
  void update(const Enqueue& enqueue, std::int32_t chunk, std::int32_t num_updates);

  /// Whether a gradient was ever infinite or NaN. Call while the device is idle.
  bool has_nonfinite();

 private:
  void all_reduce_norm(const Enqueue& enqueue);

  Device& device_;
  double clip_grad_;
  bool has_one_mode_;  // parts the gradients: that of data-parallel ranks
  std::optional<Communicator> norm_;
  std::vector<ShardUpdate> chunks_;
  Tensor grad_factor_;     // [1] f32
  Tensor sum_of_squares_;  // [1] f32
  Tensor nonfinite_;       // [1] i32
};

}  // namespace underlap::model
