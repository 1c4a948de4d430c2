// SPDX-License-Identifier: Apache-2.0
#include "bench/bound.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "bench/statistics.hpp"
#include "impl/device/makespan.hpp"
#include "impl/step/record_programs.hpp"
#include "profiler/analysis/windows.hpp"

namespace underlap::bench {
namespace {

using Place = ComputeDurations::Place;

Place place_of(const Tag& tag) { return {tag.purpose, tag.layer, tag.microbatch}; }

std::int64_t cost_bytes(const ProgramCommand& command) {
  return command.bytes + command.cost.bytes_read + command.cost.bytes_written;
}

// A place may hold several operations, and another number of them than in the measured cell (one Adam a bucket): its
// time is shared among them by the bytes that they move.
std::map<Place, std::int64_t> bytes_by_place(const Program& program) {
  std::map<Place, std::int64_t> bytes;
  for (const ProgramCommand& command : program.commands)
    if (command.type == ProgramCommand::Type::launch || command.type == ProgramCommand::Type::upload)
      bytes[place_of(command.tag)] += cost_bytes(command);
  return bytes;
}

double transfer_ns(const Program& program, const ProgramCommand& command, const plan::RunConfig& run,
                   double rate_alone) {
  std::int64_t bytes = 0;
  for (const Transfer& transfer : program.transfers(command))
    bytes += bytes_on_wire(transfer, program.group_size(command));
  if (bytes == 0) return 0;
  if (run.link_gbps > 0) return static_cast<double>(bytes) * 8 / run.link_gbps + run.link_latency_us * 1e3;
  return static_cast<double>(bytes) / rate_alone + run.link_latency_us * 1e3;
}

std::string transfers_text(const plan::Config& config, std::optional<double> rate_alone) {
  if (config.run.no_comm || config.parallel.data_parallel_size == 1) return "; no transfers";
  if (config.run.link_gbps > 0) return fmt::format("; transfers at the link's {} Gbit/s", config.run.link_gbps);
  return fmt::format("; transfers at {:.2f} Gbit/s, measured with no compute beside them", rate_alone.value_or(0) * 8);
}

}  // namespace

ComputeDurations::ComputeDurations(const Trace& no_comm) {
  std::map<std::tuple<std::int32_t, std::int32_t>, std::map<Place, double>> by_step;  // (rank, step)
  for (const analysis::Window& window : analysis::find_windows(no_comm).windows) by_step[{window.rank, window.step}];
  for (std::size_t i = 0; i < no_comm.size(); ++i) {
    const Tag& tag = no_comm.tag(i);
    const auto step = by_step.find({no_comm.tracks[no_comm.track(i)].rank, tag.step});
    if (step != by_step.end()) step->second[place_of(tag)] += static_cast<double>(no_comm.duration_ns()[i]);
  }
  std::map<Place, std::vector<double>> totals;
  for (const auto& [step, places] : by_step)
    for (const auto& [place, ns] : places) totals[place].push_back(ns);
  for (const auto& [place, values] : totals) median_ns_[place] = median(values);
}

std::optional<double> ComputeDurations::of(const Place& place) const {
  const auto found = median_ns_.find(place);
  return found == median_ns_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<double> transfer_rate_alone(const Trace& trace, double latency_ns) {
  double bytes = 0;
  double ns = 0;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const CommunicationRecord* record = trace.communication(i);
    if (record == nullptr || record->last_arrival_ns < 0) continue;
    bytes += static_cast<double>(record->bytes_on_wire());
    ns += static_cast<double>(trace.end_ns(i) - std::max(record->last_arrival_ns, trace.start_ns()[i])) - latency_ns;
  }
  return bytes > 0 && ns > 0 ? std::optional(bytes / ns) : std::nullopt;
}

StepBound step_bound(const plan::Config& config, const ComputeDurations& compute, const Trace* off) {
  const bool is_paced = config.run.link_gbps > 0;
  const std::optional<double> rate =
      is_paced || off == nullptr ? std::nullopt : transfer_rate_alone(*off, config.run.link_latency_us * 1e3);
  if (!is_paced && !rate && config.parallel.data_parallel_size > 1 && !config.run.no_comm)
    return {std::nullopt, "no cell whose transfers run alone"};
  const Program program = record_step(config, Detail::costs);
  const std::map<Place, std::int64_t> bytes = bytes_by_place(program);
  for (const auto& [place, total] : bytes)
    if (!compute.of(place))
      return {std::nullopt, fmt::format("no duration of {} without transfers", name_of(std::get<0>(place)))};
  const auto duration_of = [&](const ProgramCommand& command) {
    if (command.type == ProgramCommand::Type::communicate)
      return config.run.no_comm
                 ? 0
                 : static_cast<std::int64_t>(transfer_ns(program, command, config.run, rate.value_or(1)));
    const Place place = place_of(command.tag);
    const double share = static_cast<double>(cost_bytes(command)) / static_cast<double>(bytes.at(place));
    return static_cast<std::int64_t>(*compute.of(place) * share);
  };
  return {makespan_ns(program, duration_of), "compute without transfers beside it" + transfers_text(config, rate)};
}

}  // namespace underlap::bench
