// SPDX-License-Identifier: Apache-2.0
#include "bench/host_session.hpp"

#include <dnnl.h>
#include <fmt/format.h>
#include <gloo/config.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#include "impl/device/host/host_device.hpp"
#include "impl/device/without_transfers.hpp"
#include "impl/step/trainer.hpp"
#include "platform/errors.hpp"

namespace underlap::bench {
namespace {

// Slots beyond what the steps of a warm-up took: none is ever missing because a count was rounded.
constexpr std::size_t kSpareSlots = 256;

std::int64_t clock_ns(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

host::HostOptions host_options(const plan::Config& config, std::int32_t rank) {
  const auto cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  return {.rank = rank,
          .link = {.gbit_per_s = config.run.link_gbps,
                   .latency = std::chrono::nanoseconds(static_cast<std::int64_t>(config.run.link_latency_us * 1e3))},
          .compute_threads = std::max(1, cores / config.parallel.data_parallel_size),
          .record_slices = config.run.trace,
          .guard_views = false};
}

}  // namespace

// One cell on one rank.
struct HostSession::RankCell {
  std::unique_ptr<host::HostDevice> device;
  std::optional<WithoutTransfers> without_transfers;
  std::unique_ptr<Trainer> trainer;

  std::vector<double> losses;  // of the last run
  std::vector<Mark> marks;
  std::size_t slices_per_step = 0;  // of the stream with the most
};

struct HostSession::CellState {
  const plan::Cell* cell = nullptr;
  std::unique_ptr<model::TextData> data;
  std::vector<RankCell> ranks;
};

HostSession::HostSession(std::span<const plan::Cell> cells, std::int32_t first_step) {
  std::int32_t world_size = 1;
  for (const plan::Cell& cell : cells) world_size = std::max(world_size, cell.plan.config.parallel.data_parallel_size);
  const auto timeout =
      std::chrono::milliseconds(static_cast<std::int64_t>(cells.front().plan.config.run.peer_timeout_s * 1e3));
  fabric_ = std::make_unique<host::Fabric>(world_size, timeout);
  for (const plan::Cell& cell : cells) {
    const plan::Config& config = cell.plan.config;
    CellState& state = *cells_.emplace_back(std::make_unique<CellState>());
    state.cell = &cell;
    state.data = std::make_unique<model::TextData>(
        model::TextData::open(config.train.data, config.model.seq_length, config.run.seed));
    state.ranks.resize(static_cast<std::size_t>(config.parallel.data_parallel_size));
    on_every_rank(cells_.size() - 1, [&](RankCell& rank_cell, std::int32_t rank) {
      rank_cell.device = std::make_unique<host::HostDevice>(*fabric_, host_options(config, rank));
      Device* device = rank_cell.device.get();
      if (config.run.no_comm) device = &rank_cell.without_transfers.emplace(*device);
      rank_cell.trainer =
          std::make_unique<Trainer>(*device, config, data_parallel_group(config, rank), *state.data, first_step);
      rank_cell.device->synchronize();
      rank_cell.device->recorder().drain();
    });
  }
}

HostSession::~HostSession() = default;

std::map<std::string, std::string> HostSession::library_versions() {
  const dnnl_version_t* onednn = dnnl_version();
  return {{"oneDNN", fmt::format("{}.{}.{}", onednn->major, onednn->minor, onednn->patch)},
          {"Gloo", fmt::format("{}.{}.{}", GLOO_VERSION_MAJOR, GLOO_VERSION_MINOR, GLOO_VERSION_PATCH)}};
}

void HostSession::on_every_rank(std::size_t cell, const std::function<void(RankCell&, std::int32_t)>& work) {
  std::vector<std::thread> threads;
  std::vector<RankCell>& ranks = cells_[cell]->ranks;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    threads.emplace_back([&, rank] {
      try {
        work(ranks[rank], static_cast<std::int32_t>(rank));
      } catch (...) {
        fabric_->fail(static_cast<std::int32_t>(rank), std::current_exception());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  fabric_->rethrow_failure();
}

BlockRun HostSession::run(std::size_t cell, std::int32_t block, std::int64_t steps) {
  std::vector<RankCell>& ranks = cells_[cell]->ranks;
  const auto transfer_cpu_ns = [&] {
    std::int64_t sum = fabric_->transport_cpu_ns();
    for (const RankCell& rank : ranks) sum += rank.device->communication_cpu_ns();
    return sum;
  };
  BlockRun result;
  result.first_step = ranks.front().trainer->next_step();
  result.num_steps = static_cast<std::int32_t>(steps);
  const std::int64_t transfer_cpu_before = transfer_cpu_ns();
  const std::int64_t device_ns = clock_ns(CLOCK_MONOTONIC);
  const std::int64_t unix_ns = clock_ns(CLOCK_REALTIME);
  on_every_rank(cell, [&](RankCell& rank_cell, std::int32_t) {
    for (std::int64_t i = 0; i < steps; ++i) rank_cell.trainer->step(block);
    rank_cell.losses = rank_cell.trainer->take_losses();
    rank_cell.marks = rank_cell.device->take_marks();
  });
  result.transfer_cpu_ns = transfer_cpu_ns() - transfer_cpu_before;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    Recorder& recorder = ranks[rank].device->recorder();
    const std::size_t per_step = recorder.largest_stream() / static_cast<std::size_t>(steps) + 1;
    ranks[rank].slices_per_step = std::max(ranks[rank].slices_per_step, per_step);
    const Recorder::Drained drained = recorder.drain();
    if (block >= 0 && drained.num_dropped > 0)
      throw MachineError(
          fmt::format("cell {}: the recorder of rank {} had no slot for {} slices: this block is not valid",
                      cells_[cell]->cell->name, rank, drained.num_dropped));
    result.trace.append(drained.trace);
    result.trace.marks.insert(result.trace.marks.end(), ranks[rank].marks.begin(), ranks[rank].marks.end());
    result.trace.clocks.push_back({static_cast<std::int32_t>(rank), device_ns, unix_ns});
    result.losses.push_back(std::move(ranks[rank].losses));
  }
  return result;
}

void HostSession::reserve(std::size_t cell, std::int64_t steps) {
  for (RankCell& rank : cells_[cell]->ranks)
    rank.device->recorder().reserve(rank.slices_per_step * static_cast<std::size_t>(steps) + kSpareSlots);
}

}  // namespace underlap::bench
