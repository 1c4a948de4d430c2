// SPDX-License-Identifier: Apache-2.0
#include "bench/ranks/host_session.hpp"

#include <fmt/format.h>
#include <gloo/config.h>

#include <numeric>
#include <system_error>
#include <thread>

#include "bench/ranks/host_room.hpp"
#include "kernels/gemm/tile_product.hpp"
#include "platform/memory_room.hpp"

namespace underlap::bench {

HostSession::HostSession(std::span<const plan::Cell> cells, const CellPart& own, std::int32_t first_step)
    : cells_(checked(cells, own, texts_)), fabric_(world_size(cells), peer_timeout(cells)) {
  for (std::int32_t rank = 0; rank < fabric_.world_size(); ++rank)
    ranks_.push_back(std::make_unique<HostRank>(fabric_, texts_, rank, cells, first_step));
  for (const std::size_t cell : own) {
    texts_.of(cells[cell].plan.config);  // a file that is wrong is no rank's failure
    on_every_rank(cell, [cell](HostRank& rank) { rank.build(cell); });
  }
}

std::map<std::string, std::string> HostSession::library_versions() {
  return {{"oneDNN", kernels::onednn_version()},
          {"Gloo", fmt::format("{}.{}.{}", GLOO_VERSION_MAJOR, GLOO_VERSION_MINOR, GLOO_VERSION_PATCH)}};
}

// Before the fabric opens anything.
std::span<const plan::Cell> HostSession::checked(std::span<const plan::Cell> cells, const CellPart& own, Texts& texts) {
  std::vector<std::int32_t> ranks(static_cast<std::size_t>(world_size(cells)));
  std::iota(ranks.begin(), ranks.end(), 0);
  check_host_process(cells, own, ranks, texts);
  return cells;
}

void HostSession::on_every_rank(std::size_t cell, const std::function<void(HostRank&)>& work) {
  {
    std::vector<std::jthread> threads;
    for (std::int32_t rank = 0; rank < num_ranks(cells_[cell]); ++rank) {
      const auto run = [&, rank] {
        try {
          work(*ranks_[static_cast<std::size_t>(rank)]);
        } catch (...) {
          fabric_.fail(rank, std::current_exception());
        }
      };
      try {
        threads.emplace_back(run);
      } catch (const std::system_error& error) {  // those that wait for this rank give up
        fabric_.fail(rank, std::make_exception_ptr(MachineError(
                               fmt::format("rank {}: its thread could not be started: {}", rank, no_thread(error)))));
        break;
      }
    }
  }
  fabric_.rethrow_failure();
}

report::BlockRun HostSession::run(std::size_t cell, std::int32_t block, std::int64_t steps) {
  last_trace_ = {};
  const std::int64_t transport_cpu_before = fabric_.transport_cpu_ns();
  on_every_rank(cell, [=](HostRank& rank) { rank.run(cell, block, steps); });
  const std::int64_t transport_cpu_ns = fabric_.transport_cpu_ns() - transport_cpu_before;
  std::vector<RankRun> runs;
  for (std::int32_t rank = 0; rank < num_ranks(cells_[cell]); ++rank)
    runs.push_back(ranks_[static_cast<std::size_t>(rank)]->take(cell));
  for (const RankRun& run : runs) last_trace_.append(run.trace);
  report::BlockRun result = joined(std::move(runs), steps);
  result.figures = figures_of(last_trace_, cells_[cell], block);
  result.transfer_cpu_ns = result.transfer_cpu_ns.value_or(0) + transport_cpu_ns;
  return result;
}

void HostSession::reserve(std::size_t cell, std::int64_t steps) {
  for (std::int32_t rank = 0; rank < num_ranks(cells_[cell]); ++rank)
    ranks_[static_cast<std::size_t>(rank)]->reserve(cell, steps);
}

}  // namespace underlap::bench
