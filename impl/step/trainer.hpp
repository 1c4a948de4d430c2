// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "impl/plan/config.hpp"
#include "impl/pp/technique.hpp"
#include "impl/step/model_stage.hpp"

namespace underlap {

/// One rank's training: its stage of the model with its techniques, the pipeline that drives it, and its optimizer on
/// one device.
class Trainer {
 public:
  /// Allocates everything on `device`, connects its communicators and enqueues the initial weights. `data` outlives
  /// this.
  /// Steps, and with them samples, are counted from `first_step`.
  Trainer(Device& device, const plan::Config& config, const ParallelGroups& groups, const model::TextData& data,
          std::int32_t first_step = 0);

  /// Enqueues the next step and its mark. Steps run back to back; the host may run at most two steps ahead.
  void step(std::int32_t block);

  /// The number of the next step.
  std::int32_t next_step() const { return step_; }

  /// Losses of this rank since the last call, in nats a token, one per step; none where another stage finds them. Waits
  /// until the device is idle.
  std::vector<double> take_losses();

  /// Throws MachineError where a gradient was infinite or NaN. Call while the device is idle.
  void check_gradients();

  const dp::Buffers& buffers(std::int32_t chunk = 0) const { return stage_->buffers(chunk); }

 private:
  static constexpr std::int32_t kLossSlots = 4096;  // steps between two calls of take_losses

  ModelStage::Rank declare();
  std::optional<Communicator> declare_norm();
  void update();
  model::Enqueue enqueue(Direction direction) const;

  Device& device_;
  plan::Config config_;
  const model::TextData& data_;
  ParallelGroups groups_;
  Stream compute_;
  tp::Communicators tensor_;
  cp::Communicators context_;
  std::unique_ptr<ModelStage> stage_;
  std::unique_ptr<pp::Pipeline> pipeline_;
  std::unique_ptr<model::Optimizer> optimizer_;
  Tensor losses_;  // f32 [kLossSlots]
  std::int32_t first_step_;
  std::int32_t step_;
  std::int32_t first_loss_;           // the step of losses_[0]
  std::array<Event, 2> step_ends_{};  // of the last two steps
};

}  // namespace underlap
