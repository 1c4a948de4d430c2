// SPDX-License-Identifier: Apache-2.0
#include "bench/ranks/host_session.hpp"

#include <dnnl.h>
#include <fmt/format.h>
#include <gloo/config.h>

#include <thread>

namespace underlap::bench {

HostSession::HostSession(std::span<const plan::Cell> cells, std::int32_t first_step)
    : cells_(cells), fabric_(world_size(cells), peer_timeout(cells)) {
  for (std::int32_t rank = 0; rank < fabric_.world_size(); ++rank)
    ranks_.push_back(std::make_unique<HostRank>(fabric_, texts_, rank, cells, first_step));
  for (std::size_t cell = 0; cell < cells.size(); ++cell) {
    texts_.of(cells[cell].plan.config);  // a file that is wrong is no rank's failure
    on_every_rank(cell, [cell](HostRank& rank) { rank.build(cell); });
  }
}

std::map<std::string, std::string> HostSession::library_versions() {
  const dnnl_version_t* onednn = dnnl_version();
  return {{"oneDNN", fmt::format("{}.{}.{}", onednn->major, onednn->minor, onednn->patch)},
          {"Gloo", fmt::format("{}.{}.{}", GLOO_VERSION_MAJOR, GLOO_VERSION_MINOR, GLOO_VERSION_PATCH)}};
}

void HostSession::on_every_rank(std::size_t cell, const std::function<void(HostRank&)>& work) {
  std::vector<std::thread> threads;
  for (std::int32_t rank = 0; rank < num_ranks(cells_[cell]); ++rank) {
    threads.emplace_back([&, rank] {
      try {
        work(*ranks_[static_cast<std::size_t>(rank)]);
      } catch (...) {
        fabric_.fail(rank, std::current_exception());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  fabric_.rethrow_failure();
}

report::BlockRun HostSession::run(std::size_t cell, std::int32_t block, std::int64_t steps) {
  const std::int64_t transport_cpu_before = fabric_.transport_cpu_ns();
  on_every_rank(cell, [=](HostRank& rank) { rank.run(cell, block, steps); });
  const std::int64_t transport_cpu_ns = fabric_.transport_cpu_ns() - transport_cpu_before;
  std::vector<RankRun> runs;
  for (std::int32_t rank = 0; rank < num_ranks(cells_[cell]); ++rank)
    runs.push_back(ranks_[static_cast<std::size_t>(rank)]->take(cell));
  report::BlockRun result = joined(std::move(runs), steps);
  result.transfer_cpu_ns = result.transfer_cpu_ns.value_or(0) + transport_cpu_ns;
  return result;
}

void HostSession::reserve(std::size_t cell, std::int64_t steps) {
  for (std::int32_t rank = 0; rank < num_ranks(cells_[cell]); ++rank)
    ranks_[static_cast<std::size_t>(rank)]->reserve(cell, steps);
}

}  // namespace underlap::bench
