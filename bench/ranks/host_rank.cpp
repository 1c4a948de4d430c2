// SPDX-License-Identifier: Apache-2.0
#include "bench/ranks/host_rank.hpp"

#include <fmt/format.h>

#include "bench/ranks/host_room.hpp"
#include "impl/device/host/host_device.hpp"
#include "impl/device/host/shared_clock.hpp"
#include "impl/step/planned_trainer.hpp"
#include "platform/errors.hpp"

namespace underlap::bench {
namespace {

// Slots beyond those that the steps of a warm-up used, so that rounding never leaves a block short of one.
constexpr std::size_t kSpareSlots = 256;

host::HostOptions host_options(const plan::Config& config, std::int32_t rank, std::int32_t num_sharing) {
  return {.rank = rank,
          .link = {.gbit_per_s = config.run.link_gbps,
                   .latency = std::chrono::nanoseconds(static_cast<std::int64_t>(config.run.link_latency_us * 1e3))},
          .compute_threads = compute_threads(config, num_sharing),
          .record_slices = config.run.trace,
          .guard_views = false};
}

}  // namespace

struct HostRank::BuiltCell {
  std::unique_ptr<host::HostDevice> device;
  std::optional<PlannedTrainer> trainer;
  std::size_t slices_per_step = 0;  // of the stream with the most

  // of the last run
  RankRun result;
  std::int32_t block = 0;
  std::int64_t steps = 0;
};

HostRank::HostRank(host::Fabric& fabric, Texts& texts, std::int32_t rank, std::span<const plan::Cell> cells,
                   std::int32_t first_step, std::int32_t num_sharing)
    : fabric_(fabric), texts_(texts), rank_(rank), cells_(cells), first_step_(first_step), num_sharing_(num_sharing) {}

HostRank::~HostRank() = default;

void HostRank::build(std::size_t cell) {
  const plan::Config& config = cells_[cell].plan.config;
  const model::TextData& text = texts_.of(config);
  BuiltCell& built = *(built_[cell] = std::make_unique<BuiltCell>());
  built.device = std::make_unique<host::HostDevice>(fabric_, host_options(config, rank_, num_sharing_));
  built.trainer.emplace(*built.device, config, rank_, text, first_step_);
  built.device->synchronize();
  built.device->recorder().drain();
}

void HostRank::run(std::size_t cell, std::int32_t block, std::int64_t steps) {
  BuiltCell& built = *built_.at(cell);
  built.block = block;
  built.steps = steps;
  built.result = {};
  built.result.first_step = built.trainer.value()->next_step();
  ClockSnapshot clock = clock_of(rank_);
  clock.device_ns += host::clock_offset_ns();
  built.result.trace.clocks.push_back(clock);
  const std::int64_t cpu_before = built.device->communication_cpu_ns();
  for (std::int64_t i = 0; i < steps; ++i) built.trainer.value()->step(block);
  built.result.losses = built.trainer->take_losses();
  built.result.trace.marks = built.device->take_marks();
  built.result.tensor_bytes = built.device->allocated_bytes();
  built.result.transfer_cpu_ns = built.device->communication_cpu_ns() - cpu_before;
}

RankRun HostRank::take(std::size_t cell) {
  BuiltCell& built = *built_.at(cell);
  Recorder& recorder = built.device->recorder();
  const std::size_t per_step = recorder.largest_stream() / static_cast<std::size_t>(built.steps) + 1;
  built.slices_per_step = std::max(built.slices_per_step, per_step);
  const Recorder::Drained drained = recorder.drain();
  if (built.block >= 0 && drained.num_dropped > 0)
    throw MachineError(fmt::format("cell {}: the recorder of rank {} dropped {} slices: this block is not valid",
                                   cells_[cell].name, rank_, drained.num_dropped));
  built.result.trace.append(drained.trace);
  return std::exchange(built.result, {});
}

void HostRank::reserve(std::size_t cell, std::int64_t steps) {
  BuiltCell& built = *built_.at(cell);
  built.device->recorder().reserve(built.slices_per_step * static_cast<std::size_t>(steps) + kSpareSlots);
}

namespace {

class HostRankProcess final : public RankRunner {
 public:
  explicit HostRankProcess(const RankContext& context)
      : cells_(checked(context, texts_)),
        number_(context.rank),
        fabric_(context.world_size, peer_timeout(context.cells), context.store, context.environment.address),
        rank_(fabric_, texts_, context.rank, context.cells, context.first_step, context.environment.num_sharing) {}

  void build(std::size_t cell) override {
    texts_.of(cells_[cell].plan.config);  // errors in a file concern all ranks, so they are thrown outside guarded()
    guarded([&] { rank_.build(cell); });
  }

  void run(std::size_t cell, std::int32_t block, std::int64_t steps) override {
    const std::int64_t cpu_before = fabric_.transport_cpu_ns();
    guarded([&] { rank_.run(cell, block, steps); });
    transport_cpu_ns_ = fabric_.transport_cpu_ns() - cpu_before;
  }

  RankRun take(std::size_t cell) override {
    RankRun run = rank_.take(cell);
    run.transfer_cpu_ns = run.transfer_cpu_ns.value_or(0) + transport_cpu_ns_;
    return run;
  }

  void reserve(std::size_t cell, std::int64_t steps) override { rank_.reserve(cell, steps); }
  void set_clock_offset(std::int64_t ns) override { host::set_clock_offset(ns); }

 private:
  // Checked before the fabric opens any connection.
  static std::span<const plan::Cell> checked(const RankContext& context, Texts& texts) {
    check_host_process(context.cells, context.own_cells, {&context.rank, 1}, texts, context.environment.num_sharing);
    return context.cells;
  }

  // Reports the first failure of any stream, not its consequence on this thread.
  void guarded(const auto& work) {
    try {
      work();
    } catch (...) {
      fabric_.fail(number_, std::current_exception());
    }
    fabric_.rethrow_failure();
  }

  Texts texts_;
  std::span<const plan::Cell> cells_;
  std::int32_t number_;
  host::Fabric fabric_;
  HostRank rank_;
  std::int64_t transport_cpu_ns_ = 0;  // of the last run
};

}  // namespace

std::unique_ptr<RankRunner> make_host_rank_process(const RankContext& context) {
  return std::make_unique<HostRankProcess>(context);
}

}  // namespace underlap::bench
