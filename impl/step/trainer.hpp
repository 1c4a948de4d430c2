// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "impl/model/optimizer.hpp"
#include "impl/model/text_data.hpp"
#include "impl/model/transformer.hpp"

namespace underlap {

/// How the weights of `config` are cut into buckets.
dp::BucketLayout bucket_layout(const plan::Config& config);

/// The data-parallel group of `rank`. All ranks are one so far.
Group data_parallel_group(const plan::Config& config, std::int32_t rank);

/// One rank's training: the model, its data-parallel techniques and its optimizer on one device.
class Trainer {
 public:
  /// Allocates everything on `device`, connects its communicators and enqueues the initial weights. `data` outlives
  /// this.
  /// Steps, and with them samples, are counted from `first_step`.
  Trainer(Device& device, const plan::Config& config, const Group& data_parallel_group, const model::TextData& data,
          std::int32_t first_step = 0);

  /// Enqueues the next step and its mark. Steps run back to back; the host stays at most two ahead of the device.
  void step(std::int32_t block);

  /// The number of the next step.
  std::int32_t next_step() const { return step_; }

  /// Losses of this rank since the last call, in nats a token, one per step. Waits until the device is idle.
  /// Throws MachineError where a gradient was infinite or NaN.
  std::vector<double> take_losses();

  const dp::Buffers& buffers() const { return buffers_; }

 private:
  static constexpr std::int32_t kLossSlots = 4096;  // steps between two calls of take_losses

  void declare_communicators();
  void microbatch(std::int32_t index);
  model::Enqueue enqueue(Direction direction, std::int32_t microbatch) const;

  Device& device_;
  plan::Config config_;
  const model::TextData& data_;
  Stream compute_;
  dp::Buffers buffers_;
  Communicator reduce_;
  Communicator gather_;
  Communicator norm_;
  model::ModelParameters parameters_;
  std::unique_ptr<dp::GradReduce> grad_reduce_;
  std::unique_ptr<dp::ParamGather> param_gather_;
  std::unique_ptr<model::Transformer> transformer_;
  std::unique_ptr<model::Optimizer> optimizer_;
  Tensor losses_;  // f32 [kLossSlots]
  std::int32_t first_step_;
  std::int32_t step_;
  std::int32_t first_loss_;           // the step of losses_[0]
  std::array<Event, 2> step_ends_{};  // of the last two steps
};

}  // namespace underlap
