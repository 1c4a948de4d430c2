// SPDX-License-Identifier: Apache-2.0
#include "bench/tune/step_times.hpp"

#include "impl/device/sim/machine.hpp"
#include "impl/device/sim/time_alone.hpp"
#include "impl/model/text_data.hpp"
#include "impl/step/record_programs.hpp"
#include "impl/step/simulation.hpp"
#include "profiler/analysis/exposure.hpp"
#include "profiler/analysis/windows.hpp"
#include "profiler/report/samples.hpp"

namespace underlap::bench {
namespace {

// The first begins on idle devices.
constexpr std::int64_t kSteps = 2;

report::StepSample played_step(const plan::Config& config, const sim::Hardware& hardware) {
  const auto data = model::TextData::unread(config.model.seq_length);
  const auto time = sim::make_time_model(config, hardware);
  const Trace trace = Simulation(config, data, *time).play_windows(0, kSteps);
  report::BlockRun block;
  block.num_steps = kSteps;
  block.figures.windows = analysis::find_windows(trace).windows;
  if (config.run.trace) block.figures.splits = analysis::split_windows(trace, block.figures.windows);
  return report::samples_of(block, 0).front();
}

plan::Config untraced(plan::Config config) {
  config.run.trace = false;
  return config;
}

std::int64_t last_mark_ns(const Trace& trace) {
  std::int64_t last = 0;
  for (const Mark& mark : trace.marks) last = std::max(last, mark.time_ns);
  return last;
}

// The same compute with the plainest schedule, which any number of microbatches can have.
plan::Config computing_alone(plan::Config config) {
  config.run.no_comm = true;
  config.environment.layernorm_sm_margin = 0;
  config.tensor_overlap = {};
  config.ddp.overlap_grad_reduce = config.ddp.overlap_param_gather = false;  // one bucket, one optimizer kernel
  config.ddp.average_in_collective = true;
  if (config.recompute.method == plan::RecomputeMethod::block)
    config.recompute.num_layers *= config.parallel.chunks_of_stage();
  config.parallel.set_plain_stages();
  config.pipeline = {};
  config.extensions.pipeline_schedule.reset();
  config.optimizer.overlap_param_gather_with_optimizer_step = false;
  return config;
}

/// What the kernels of each pipeline stage take in a step, one after the other, nanoseconds.
struct StageTimes {
  std::vector<std::int64_t> alone;   ///< each from its start to its end
  std::vector<std::int64_t> device;  ///< if the device were shared out without a gap
};

StageTimes stage_times(const plan::Config& config, const sim::TimeModel& time, std::int64_t num_microbatches) {
  const plan::Config shorter = with_microbatches(config, num_microbatches);
  StageTimes times;
  for (const Program& stage : record_stages(shorter, Detail::costs)) {
    std::int64_t alone = 0, device = 0;
    sim::TimesAlone times_alone(time, stage);
    for (const ProgramCommand& command : stage.commands) {
      if (command.type != ProgramCommand::Type::launch) continue;
      const CommandTime taken = times_alone.of(command);
      alone += taken.alone_ns;
      device += taken.device_ns;
    }
    times.alone.push_back(alone);
    times.device.push_back(device);
  }
  return times;
}

}  // namespace

std::int64_t step_ns(const plan::Config& config, const sim::Hardware& hardware) {
  return played_step(untraced(config), hardware).step_ns;
}

std::int64_t nearly_step_ns(const plan::Config& of, const sim::Hardware& hardware) {
  const plan::Config config = untraced(of);
  const auto data = model::TextData::unread(config.model.seq_length);
  const auto time = sim::make_time_model(config, hardware);
  Simulation simulation(config, data, *time, 0, fold_nearly_alike(config, time->gpus_per_node()));
  const std::int64_t first_ns = last_mark_ns(simulation.play(0, 1));
  // In front of a later step the host has run ahead, and its loop between two steps takes no time.
  if (!config.optimizer.overlap_param_gather_with_optimizer_step) return first_ns - time->host().iteration_ns;
  return last_mark_ns(simulation.play(0, 1)) - first_ns;
}

StepExposure step_exposure(const plan::Config& config, const sim::Hardware& hardware) {
  plan::Config traced = config;
  traced.run.trace = true;
  const report::StepSample step = played_step(traced, hardware);
  StepExposure exposure{.step_ns = step.step_ns, .comm_ns = 0, .exposed_ns = {}};
  analysis::Split all;
  for (const analysis::Split& rank : step.ranks) all += rank;
  const auto ranks = static_cast<std::int64_t>(step.ranks.size());
  exposure.comm_ns = all.comm_ns() / ranks;
  for (const auto& [modes, ns] : all.exposed_ns_by_modes) exposure.exposed_ns[modes] = ns / ranks;
  return exposure;
}

plan::Config with_microbatches(plan::Config config, std::int64_t num) {
  config.train.num_microbatches = num;
  return config;
}

// From one round of the pipeline to the next.
Shortened shortened(const plan::Config& config) {
  const std::int64_t stages = config.parallel.num_stages();
  const std::int64_t unit =
      stages == 1 ? 1 : std::max<std::int64_t>(stages, config.pipeline.microbatch_group_size_per_vp_stage);
  const Shortened of_step{unit, 2 * unit};
  if (of_step.fewer + of_step.more >= config.train.num_microbatches) return {config.train.num_microbatches, 0};
  return of_step;
}

std::int64_t extrapolated(const plan::Config& config, std::int64_t fewer_ns, std::int64_t more_ns) {
  const auto [fewer, more] = shortened(config);
  if (more == 0) return fewer_ns;
  return more_ns + (config.train.num_microbatches - more) * (more_ns - fewer_ns) / (more - fewer);
}

LeastSteps::LeastSteps(const plan::Config& config, const sim::Hardware& hardware) {
  const plan::Config alone = computing_alone(config);
  const auto time = sim::make_time_model(alone, hardware);
  const StageTimes one = stage_times(alone, *time, 1), two = stage_times(alone, *time, 2);
  std::int64_t longest = 0;
  for (std::size_t stage = 0; stage < one.alone.size(); ++stage) {
    stages_.push_back({one.device[stage], two.device[stage] - one.device[stage]});
    const std::int64_t of_microbatch = two.alone[stage] - one.alone[stage];
    of_others_ns_ += of_microbatch;
    longest = std::max(longest, of_microbatch);
  }
  of_others_ns_ -= longest;
}

std::int64_t LeastSteps::ns(std::int64_t num_microbatches, std::int64_t virtual_stages) const {
  std::int64_t busiest = 0;
  for (const Stage& stage : stages_)
    busiest = std::max(busiest, stage.first_ns + (num_microbatches - 1) * stage.of_more_ns);
  return busiest + of_others_ns_ / virtual_stages;
}

}  // namespace underlap::bench
