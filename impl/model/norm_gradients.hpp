// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "impl/model/weights.hpp"
#include "impl/tp/communicators.hpp"

namespace underlap::model {

/// The gradients over a tensor-parallel group of what every rank holds and works on its own tokens with: norms, and the
/// biases of row-parallel layers.
///
/// Source: Megatron Core's all-reduce with sequence parallelism of the gradients of parameters that are marked for it,
/// in one flat buffer.
class NormGradients {
 public:
  /// `communicators` and `chunks`, the buffers of all chunks of a rank, outlive this. Allocates on the communicators'
  /// device.
  NormGradients(tp::Communicators& communicators, std::span<const dp::Buffers* const> chunks);

  /// Enqueues the sum over the group of what the main gradients hold, in the tail of a step that nothing hides.
  void all_reduce(const Enqueue& enqueue) const;

 private:
  tp::Collectives collectives_;
  std::vector<View> gradients_;  // [1, H] each
  Tensor flat_;
};

}  // namespace underlap::model
