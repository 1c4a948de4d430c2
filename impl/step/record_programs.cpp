// SPDX-License-Identifier: Apache-2.0
#include "impl/step/record_programs.hpp"

#include "impl/device/recording_device.hpp"
#include "impl/plan/config.hpp"
#include "impl/step/planned_trainer.hpp"

namespace underlap {
namespace {

// What is recorded is what would run on values, whichever they are.
model::TextData no_data(const plan::Config& config) { return model::TextData::unread(config.model.seq_length); }

Program record_step_of(const plan::Config& config, const model::TextData& data, std::int32_t rank, Detail detail) {
  RecordingDevice device(detail);
  PlannedTrainer trainer(device, config, rank, data);
  device.take_program();
  trainer->step(0);
  return device.take_program();
}

}  // namespace

std::vector<Program> record_programs(const plan::Config& config, std::int32_t steps, Detail detail) {
  const model::TextData data = no_data(config);
  std::vector<Program> programs;
  for (std::int32_t rank = 0; rank < config.parallel.world_size(); ++rank) {
    RecordingDevice device(detail);
    Trainer trainer(device, as_run(config), parallel_groups(config, rank), data);
    for (std::int32_t step = 0; step < steps; ++step) trainer.step(0);
    programs.push_back(device.take_program());
  }
  return programs;
}

Program record_step(const plan::Config& config, Detail detail) {
  return record_step_of(config, no_data(config), 0, detail);
}

std::vector<Program> record_stages(const plan::Config& config, Detail detail) {
  const model::TextData data = no_data(config);
  std::vector<Program> programs;
  for (const std::int32_t rank : parallel_groups(config, 0).pipeline.members)
    programs.push_back(record_step_of(config, data, rank, detail));
  return programs;
}

std::vector<Launch> record_launches(const plan::Config& config, const model::TextData& data, std::int32_t rank) {
  constexpr int kSteps = 2;  // a step may do what the one before it left to it
  DistinctLaunches device;
  PlannedTrainer trainer(device, config, rank, data);
  for (int step = 0; step < kSteps; ++step) {
    trainer->step(0);
    device.take_program();
  }
  return device.take();
}

}  // namespace underlap
