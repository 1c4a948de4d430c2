// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "impl/model/weights.hpp"

namespace underlap::model {

/// Adam on this rank's shards: fp32 main parameters and moments, bf16 parameters out.
class Optimizer {
 public:
  /// `norm` is the communicator of the gradient norm; it is used only with clip_grad > 0 and the distributed optimizer.
  /// Allocates on `device`.
  Optimizer(Device& device, const plan::Config& config, const dp::Buffers& buffers, const Communicator& norm);

  /// Enqueues the initial weights: parameters on every rank alike, main parameters of this rank's shards.
  /// Matrices are normal with deviation 0.02, those that write to the residual stream scaled down by sqrt(2 layers);
  /// norms are 1. Source: Radford et al. 2019; Megatron's initialisation.
  void initialise(const Enqueue& enqueue);

  /// Enqueues the update from the reduced gradients; `num_updates` were made before it.
  void step(const Enqueue& enqueue, std::int32_t num_updates);

  /// Whether a gradient was ever infinite or NaN. Call while the device is idle.
  bool has_nonfinite();

 private:
  // What fills a view that starts `first` elements behind the start of its stretch.
  using Fill = std::function<Operation(const View& view, std::int64_t first)>;

  void fill_padding(const Enqueue& enqueue, std::int32_t b);
  void fill_parameter(const Enqueue& enqueue, std::int32_t parameter);
  void fill_stretch(const Enqueue& enqueue, std::int32_t b, std::int64_t begin, std::int64_t end, const Fill& fill);
  void clip(const Enqueue& enqueue);
  View main_shard(const Tensor& buffer, std::int32_t b) const;

  Device& device_;
  plan::Config config_;
  const dp::Buffers& buffers_;
  Communicator norm_;
  std::vector<std::int64_t> shard_offset_;  // by bucket: where its shard lies in the main buffers
  Tensor main_;                             // f32 [elements of all shards]
  Tensor m_;
  Tensor v_;
  Tensor grad_factor_;     // [1] f32
  Tensor sum_of_squares_;  // [1] f32
  Tensor nonfinite_;       // [1] i32
};

}  // namespace underlap::model
