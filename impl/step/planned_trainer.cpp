// SPDX-License-Identifier: Apache-2.0
#include "impl/step/planned_trainer.hpp"

#include "impl/plan/config.hpp"

namespace underlap {

plan::Config as_run(plan::Config config) {
  if (config.run.no_comm) config.tensor_overlap = {};
  return config;
}

PlannedTrainer::PlannedTrainer(Device& device, const plan::Config& config, std::int32_t rank,
                               const model::TextData& data, std::int32_t first_step) {
  if (config.run.no_comm) without_transfers_.emplace(device);
  Device& seen = without_transfers_ ? static_cast<Device&>(*without_transfers_) : device;
  trainer_ = std::make_unique<Trainer>(seen, as_run(config), parallel_groups(config, rank), data, first_step);
}

std::vector<double> PlannedTrainer::take_losses() {
  std::vector<double> losses = trainer_->take_losses();
  if (!without_transfers_) trainer_->check_gradients();
  return losses;
}

}  // namespace underlap
