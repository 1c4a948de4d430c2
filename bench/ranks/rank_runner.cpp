// SPDX-License-Identifier: Apache-2.0
#include "bench/ranks/rank_runner.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "bench/ranks/cuda_backend.hpp"
#include "bench/ranks/host_rank.hpp"

namespace underlap::bench {

std::unique_ptr<RankRunner> make_rank_runner(const RankContext& context) {
  const Backend backend = context.cells.front().plan.config.run.backend;
  switch (backend) {
    case Backend::host: return make_host_rank_process(context);
    case Backend::cuda: return make_cuda_rank(context);
    case Backend::sim: break;
  }
  throw std::invalid_argument(fmt::format("run.backend {} does not run ranks as processes", to_string(backend)));
}

// With an emulated link, one rank represents all.
std::int32_t num_ranks(const plan::Cell& cell) {
  const plan::Config& config = cell.plan.config;
  return config.run.emulated_link ? 1 : config.parallel.world_size();
}

std::int32_t world_size(std::span<const plan::Cell> cells) {
  std::int32_t size = 1;
  for (const plan::Cell& cell : cells) size = std::max(size, num_ranks(cell));
  return size;
}

std::chrono::milliseconds peer_timeout(std::span<const plan::Cell> cells) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(cells.front().plan.config.run.peer_timeout_s * 1e3));
}

}  // namespace underlap::bench
