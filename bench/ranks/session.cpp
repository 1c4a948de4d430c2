// SPDX-License-Identifier: Apache-2.0
#include "bench/ranks/session.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "bench/machine/gpu_libraries.hpp"
#include "bench/ranks/cuda_backend.hpp"
#include "bench/ranks/host_room.hpp"
#include "bench/ranks/host_session.hpp"
#include "bench/ranks/process_session.hpp"
#include "bench/ranks/sim_session.hpp"
#include "impl/plan/link.hpp"
#include "profiler/analysis/arrivals.hpp"

namespace underlap::bench {
namespace {

std::string host_link_text(const plan::RunConfig& run) {
  if (run.link_gbps <= 0 && run.link_latency_us <= 0) return std::string(run.traits().link);
  std::string text =
      run.link_gbps > 0 ? fmt::format("paced to {} Gbit/s a direction", run.link_gbps) : "not paced in rate";
  if (run.link_latency_us > 0) text += fmt::format(", {} us latency", run.link_latency_us);
  return text + ", TCP over the loopback";
}

bool lacks_arrivals(const Trace& trace) {
  for (std::size_t i = 0; i < trace.size(); ++i)
    if (const CommunicationRecord* record = trace.communication(i); record != nullptr && record->last_arrival_ns == -1)
      return true;
  return false;
}

}  // namespace

report::BlockRun joined(std::vector<RankRun> ranks, std::int64_t steps) {
  report::BlockRun result;
  result.first_step = ranks.front().first_step;
  result.num_steps = static_cast<std::int32_t>(steps);
  for (RankRun& rank : ranks) {
    result.trace.append(rank.trace);
    for (std::string& note : rank.notes) result.notes.push_back(std::move(note));
    for (std::string& why : rank.invalid_because) result.invalid_because.push_back(std::move(why));
    if (!rank.losses.empty()) result.losses.push_back(std::move(rank.losses));
    if (rank.transfer_cpu_ns) result.transfer_cpu_ns = result.transfer_cpu_ns.value_or(0) + *rank.transfer_cpu_ns;
  }
  // Ranks that exchange no arrival stamps, as those of NCCL: their starts lie side by side only here.
  if (lacks_arrivals(result.trace)) analysis::find_arrivals(result.trace, analysis::align_clocks(result.trace));
  return result;
}

BackendInfo backend_info(Backend backend) {
  BackendInfo info{.library_versions = {}, .clock = std::string(traits_of(backend).clock)};
  if (backend == Backend::host) info.library_versions = HostSession::library_versions();
  if (backend == Backend::cuda)
    for (const GpuLibrary& library : find_gpu_libraries())
      if (!library.version.empty()) info.library_versions[library.name] = library.version;
  return info;
}

std::string link_text(const plan::RunConfig& run) {
  if (run.emulated_link) return plan::to_words(*run.emulated_link);
  if (!run.traits().measures_time) return fmt::format("{}: {}", run.traits().link, run.hardware);
  return run.traits().runs_on_cores ? host_link_text(run) : std::string(run.traits().link);
}

std::unique_ptr<Session> make_session(std::span<const plan::Cell> cells, std::int32_t first_step,
                                      const plan::Source& source) {
  check_planned_memory(cells);
  const plan::RunConfig& run = cells.front().plan.config.run;
  if (run.backend == Backend::sim) return std::make_unique<SimSession>(cells, first_step);
  if (run.backend == Backend::cuda) return make_cuda_session(cells, first_step, source);
  if (run.rank_processes) {
    Texts texts;
    check_host_memory(cells, texts);
    return std::make_unique<ProcessSession>(cells, first_step, source);
  }
  return std::make_unique<HostSession>(cells, first_step);
}

}  // namespace underlap::bench
