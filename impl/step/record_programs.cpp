// SPDX-License-Identifier: Apache-2.0
#include "impl/step/record_programs.hpp"

#include "impl/device/recording_device.hpp"
#include "impl/step/trainer.hpp"

namespace underlap {
namespace {

model::TextData open_data(const plan::Config& config) {
  return model::TextData::open(config.train.data, config.model.seq_length, config.run.seed);
}

}  // namespace

std::vector<Program> record_programs(const plan::Config& config, std::int32_t steps, Detail detail) {
  const model::TextData data = open_data(config);
  std::vector<Program> programs;
  for (std::int32_t rank = 0; rank < config.parallel.data_parallel_size; ++rank) {
    RecordingDevice device(detail);
    Trainer trainer(device, config, data_parallel_group(config, rank), data);
    for (std::int32_t step = 0; step < steps; ++step) trainer.step(0);
    programs.push_back(device.take_program());
  }
  return programs;
}

Program record_step(const plan::Config& config, Detail detail) {
  const model::TextData data = open_data(config);
  RecordingDevice device(detail);
  Trainer trainer(device, config, data_parallel_group(config, 0), data);
  device.take_program();
  trainer.step(0);
  return device.take_program();
}

}  // namespace underlap
