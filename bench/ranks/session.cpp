// SPDX-License-Identifier: Apache-2.0
#include "bench/ranks/session.hpp"

#include <fmt/format.h>

#include "bench/ranks/cuda_backend.hpp"
#include "bench/ranks/host_room.hpp"
#include "bench/ranks/host_session.hpp"
#include "bench/ranks/process_session.hpp"
#include "bench/ranks/sim_session.hpp"
#include "impl/device/sim/machine.hpp"
#include "impl/plan/link_setting.hpp"
#include "platform/nvidia_library.hpp"
#include "profiler/trace/subset.hpp"

namespace underlap::bench {
namespace {

std::string host_link_text(const plan::RunConfig& run, std::int32_t num_nodes) {
  const std::string link =
      num_nodes > 1 ? fmt::format("TCP between {} nodes", num_nodes) : std::string(run.traits().link);
  if (run.link_gbps <= 0 && run.link_latency_us <= 0) return link;
  std::string text =
      run.link_gbps > 0 ? fmt::format("paced to {} Gbit/s a direction", run.link_gbps) : "not paced in rate";
  if (run.link_latency_us > 0) text += fmt::format(", {} us latency", run.link_latency_us);
  return fmt::format("{}, {}", text, link);
}

}  // namespace

report::BlockRun joined(std::vector<RankRun> ranks, std::int64_t steps) {
  report::BlockRun result;
  result.first_step = ranks.front().first_step;
  result.num_steps = static_cast<std::int32_t>(steps);
  for (RankRun& rank : ranks) {
    for (std::string& note : rank.notes) result.notes.push_back(std::move(note));
    for (std::string& why : rank.invalid_because) result.invalid_because.push_back(std::move(why));
    for (report::CaptureFault& fault : rank.capture_faults) result.capture_faults.push_back(std::move(fault));
    if (rank.gpu_block) result.gpu_blocks.push_back(std::move(*rank.gpu_block));
    result.tensor_bytes = std::max(result.tensor_bytes, rank.tensor_bytes);
    if (!rank.gpu.empty()) result.gpus.insert(std::move(rank.gpu));
    if (!rank.losses.empty()) result.losses.push_back(std::move(rank.losses));
    if (rank.transfer_cpu_ns) result.transfer_cpu_ns = result.transfer_cpu_ns.value_or(0) + *rank.transfer_cpu_ns;
  }
  return result;
}

report::BlockFigures figures_of(const Trace& trace, const plan::Cell& cell, std::int32_t block) {
  const plan::Config& config = cell.plan.config;
  return report::figures_of(trace, config.run.trace && block >= 0, config.parallel.stage_size());
}

Trace taken(Trace& trace, std::span<const std::int32_t> ranks) {
  const auto is_wanted = [&](std::int32_t rank) { return std::ranges::find(ranks, rank) != ranks.end(); };
  Trace whole = std::exchange(trace, {});
  if (std::ranges::all_of(whole.tracks, is_wanted, &Track::rank)) return whole;
  return subset(whole, is_wanted);
}

BackendInfo backend_info(Backend backend) {
  BackendInfo info{.library_versions = {}, .clock = std::string(traits_of(backend).clock)};
  if (backend == Backend::host) info.library_versions = HostSession::library_versions();
  if (backend == Backend::cuda)
    for (const GpuLibrary& library : find_gpu_libraries())
      if (!library.version.empty()) info.library_versions[library.name] = library.version;
  return info;
}

std::string link_text(const plan::RunConfig& run, std::int32_t num_nodes) {
  if (run.emulated_link) return plan::to_words(*run.emulated_link);
  if (!run.traits().measures_time) return fmt::format("{}: {}", run.traits().link, sim::hardware_words(run));
  if (run.traits().runs_on_cores) return host_link_text(run, num_nodes);
  return std::string(run.traits().link) + (num_nodes > 1 ? fmt::format(", between {} nodes", num_nodes) : "");
}

namespace {

// Those that run on this machine, as far as it is known; virtual time runs all here.
std::vector<std::int32_t> ranks_here(std::int32_t num_ranks, const Placement* placement) {
  std::vector<std::int32_t> ranks;
  for (std::int32_t rank = 0; rank < num_ranks; ++rank)
    if (placement == nullptr || placement->ranks[static_cast<std::size_t>(rank)].node == placement->ranks.front().node)
      ranks.push_back(rank);
  return ranks;
}

std::unique_ptr<Session> make_host_session(std::span<const plan::Cell> cells, std::int32_t first_step,
                                           const SessionOptions& options, std::span<const std::int32_t> here) {
  if (!cells.front().plan.config.run.rank_processes && options.starter == nullptr)
    return std::make_unique<HostSession>(cells, *options.cells, first_step);
  Texts texts;
  check_host_memory(cells, *options.cells, here, texts);
  return std::make_unique<ProcessSession>(cells, first_step, options);
}

}  // namespace

std::vector<CellPart> session_parts(std::span<const plan::Cell> cells, const Placement* placement) {
  return parts_in_memory(cells, static_cast<std::int32_t>(ranks_here(world_size(cells), placement).size()));
}

std::unique_ptr<Session> make_session(std::span<const plan::Cell> cells, std::int32_t first_step,
                                      SessionOptions options) {
  if (!options.cells) options.cells = all_cells(cells.size());
  const Backend backend = cells.front().plan.config.run.backend;
  const std::vector<std::int32_t> here =
      ranks_here(world_size(cells), backend == Backend::sim ? nullptr : options.placement);
  check_planned_memory(cells, *options.cells,
                       backend == Backend::sim ? kAllRanks : static_cast<std::int32_t>(here.size()));
  switch (backend) {
    case Backend::sim: return std::make_unique<SimSession>(cells, first_step);
    case Backend::cuda: return make_cuda_session(cells, first_step, options);
    case Backend::host: break;
  }
  return make_host_session(cells, first_step, options, here);
}

}  // namespace underlap::bench
