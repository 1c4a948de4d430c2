// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "impl/device/without_transfers.hpp"
#include "impl/step/trainer.hpp"

namespace underlap {

/// `config` as its steps are run: with run.no_comm every product is whole, since a step without transfers is measured
/// for the compute that is needed at least.
plan::Config as_run(plan::Config config);

/// One rank's trainer as its plan asks for it: with run.no_comm on a device that lets no transfer through.
class PlannedTrainer {
 public:
  /// As Trainer's; `device` is seen through WithoutTransfers where the plan has none.
  PlannedTrainer(Device& device, const plan::Config& config, std::int32_t rank, const model::TextData& data,
                 std::int32_t first_step = 0);

  Trainer* operator->() { return trainer_.get(); }

  /// Trainer::take_losses(), and where transfers happen Trainer::check_gradients(): without them what peers would have
  /// sent was never there, and values mean nothing.
  std::vector<double> take_losses();

 private:
  std::optional<WithoutTransfers> without_transfers_;
  std::unique_ptr<Trainer> trainer_;
};

}  // namespace underlap
