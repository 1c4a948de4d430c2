// SPDX-License-Identifier: Apache-2.0
#include "bench/bound.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "bench/statistics.hpp"
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

/// A link whose rate is set: paced, or emulated.
struct SetLink {
  double bytes_per_ns = 0;
  double latency_ns = 0;  ///< of a group of transfers, or of each step of its ring
  bool latency_by_step = false;
};

std::optional<SetLink> set_link(const plan::RunConfig& run) {
  if (const auto& link = run.emulated_link) return SetLink{link->gb_per_s, link->latency_us * 1e3, true};
  if (run.link_gbps > 0) return SetLink{run.link_gbps / 8, run.link_latency_us * 1e3, false};
  return std::nullopt;
}

std::int64_t ring_steps(const Transfer& transfer, std::int32_t group_size) {
  switch (transfer.collective) {
    case Collective::all_reduce: return 2 * (group_size - 1);
    case Collective::send:
    case Collective::receive: return 1;
    default: return group_size - 1;
  }
}

// Latency takes time, but does not fill the link.
CommandTime transfer_time(const Program& program, const ProgramCommand& command, const plan::RunConfig& run,
                          double rate_alone) {
  std::int64_t bytes = 0;
  std::int64_t steps = 0;
  for (const Transfer& transfer : program.transfers(command)) {
    bytes += bytes_on_wire(transfer, program.group_size(command));
    steps = std::max(steps, ring_steps(transfer, program.group_size(command)));
  }
  if (bytes == 0 || run.no_comm) return {};
  const SetLink link = set_link(run).value_or(SetLink{rate_alone, run.link_latency_us * 1e3, false});
  const double on_link = static_cast<double>(bytes) / link.bytes_per_ns;
  const double latency_ns = link.latency_by_step ? link.latency_ns * static_cast<double>(steps) : link.latency_ns;
  const auto link_ns = static_cast<std::int64_t>(on_link);
  return {.alone_ns = static_cast<std::int64_t>(on_link + latency_ns),
          .links = {{{.send_ns = link_ns, .receive_ns = link_ns}}}};
}

std::string transfers_text(const plan::Config& config, std::optional<double> rate_alone) {
  if (config.run.no_comm || config.parallel.data_parallel_size == 1) return "; no transfers";
  if (config.run.emulated_link)
    return fmt::format("; transfers at the emulated link's {} GB/s", config.run.emulated_link->gb_per_s);
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
  const bool is_paced = set_link(config.run).has_value();
  const std::optional<double> rate =
      is_paced || off == nullptr ? std::nullopt : transfer_rate_alone(*off, config.run.link_latency_us * 1e3);
  if (!is_paced && !rate && config.parallel.data_parallel_size > 1 && !config.run.no_comm)
    return {std::nullopt, "no cell whose transfers run alone"};
  const Program program = record_step(config, Detail::costs);
  const std::map<Place, std::int64_t> bytes = bytes_by_place(program);
  for (const auto& [place, total] : bytes)
    if (!compute.of(place))
      return {std::nullopt, fmt::format("no duration of {} without transfers", name_of(std::get<0>(place)))};
  const auto time_of = [&](std::size_t, const ProgramCommand& command) -> CommandTime {
    if (command.type == ProgramCommand::Type::communicate)
      return transfer_time(program, command, config.run, rate.value_or(1));
    const Place place = place_of(command.tag);
    const double share = static_cast<double>(cost_bytes(command)) / static_cast<double>(bytes.at(place));
    const auto ns = static_cast<std::int64_t>(*compute.of(place) * share);
    return {.alone_ns = ns, .device_ns = ns};
  };
  return {step_bounds({&program, 1}, time_of), "compute without transfers beside it" + transfers_text(config, rate)};
}

// Modelled
// -------------------------------------------------------------------------------------------------------------

namespace {

// The share of the whole device that a kernel needs for its time alone.
double device_share(const sim::KernelTime& time, const sim::DeviceLimits& limits) {
  if (time.form == sim::KernelTime::Form::copy) return 0;
  double sms = time.sms;
  if (time.form == sim::KernelTime::Form::waves) {
    const auto tiles = static_cast<double>(time.tiles);
    const std::int64_t at_once = std::min<std::int64_t>(time.tiles, time.sms);
    sms = tiles / static_cast<double>((time.tiles + at_once - 1) / at_once);
  }
  return std::min(1.0, sms / limits.sms);
}

// The last is what a bound must never be above, so everything is rounded down.
CommandTime modelled_time(const Program& program, const ProgramCommand& command, const sim::TimeModel& time) {
  const sim::DeviceLimits limits = time.limits();
  const auto whole = [](double ns) { return static_cast<std::int64_t>(ns); };
  if (command.type != ProgramCommand::Type::communicate) {
    const sim::KernelTime kernel =
        command.type == ProgramCommand::Type::upload ? time.copy(command.bytes) : time.kernel(command.cost);
    return {.alone_ns = whole(kernel.alone_ns),
            .device_ns = whole((kernel.alone_ns - kernel.fixed_ns) * device_share(kernel, limits))};
  }
  const ProgramCommunicator& communicator = program.communicators[command.communicator];
  const sim::TransferTime transfers =
      time.transfers(sim::shapes_of(program, command), communicator.group.members, communicator.hints);
  const std::int64_t nvlink_ns = whole(transfers.nvlink_bytes / limits.nvlink_bytes_per_ns);
  const std::int64_t network_ns = whole(transfers.network_bytes / limits.network_bytes_per_ns);
  return {
      .alone_ns = whole(transfers.alone_ns),
      .links = {{{.send_ns = nvlink_ns, .receive_ns = nvlink_ns}, {.send_ns = network_ns, .receive_ns = network_ns}}}};
}

}  // namespace

StepBound step_bound(const plan::Config& config, const sim::TimeModel& time) {
  const Program program = record_step(config, Detail::costs);
  const auto time_of = [&](std::size_t, const ProgramCommand& command) -> CommandTime {
    if (command.type == ProgramCommand::Type::communicate && config.run.no_comm) return {};
    return modelled_time(program, command, time);
  };
  return {step_bounds({&program, 1}, time_of), "modelled durations, each alone"};
}

}  // namespace underlap::bench
