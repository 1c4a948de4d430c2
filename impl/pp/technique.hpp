// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "impl/device/device.hpp"
#include "impl/device/technique.hpp"
#include "impl/plan/config.hpp"
#include "impl/pp/stage.hpp"

namespace underlap::pp {

/// What every technique of this folder works with.
struct Context {
  Device* device = nullptr;
  const plan::Config* config = nullptr;
  Group group;  ///< the stages of one pipeline, in order; my_index is this rank's stage
  Stream compute;
  Group tensor;           ///< tensor-parallel ranks of this stage
  std::int64_t rows = 0;  ///< of the bf16 activation that stages hand on: tokens of a microbatch on this rank
  std::int64_t cols = 0;  ///< hidden size
};

/// Drives one rank's part of a pipeline: in what order microbatches pass through its chunks, and how activations and
/// their gradients travel between stages.
///
/// Made before Device::begin(), by all stages in the same order. It owns its communicators, the buffers of what is
/// received and sent, and every order between them and compute.
class Pipeline {
 public:
  virtual ~Pipeline() = default;

  /// Enqueues all forward and backward passes of training step `step`. On return the compute stream holds the last of
  /// them; what this rank sent may be on its way.
  virtual void run(Stage& stage, std::int32_t step) = 0;
};

using Pipelines = Techniques<Pipeline, plan::Config, Context>;

/// The one that `context.config` puts in effect.
inline std::unique_ptr<Pipeline> make_pipeline(const Context& context) {
  return Pipelines::make(*context.config, context);
}

}  // namespace underlap::pp
