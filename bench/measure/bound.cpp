// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/bound.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "impl/device/sim/time_alone.hpp"
#include "impl/plan/config.hpp"
#include "impl/step/record_programs.hpp"
#include "profiler/analysis/mode_name.hpp"

namespace underlap::bench {
namespace {

using analysis::Place;
using analysis::place_of;

std::int64_t cost_bytes(const Program& program, const ProgramCommand& command) {
  const Cost cost = program.cost(command);
  return command.bytes + cost.bytes_read + cost.bytes_written;
}

// A place may hold several operations, and another number of them than in the measured cell (one Adam a bucket): its
// time is shared among them by the bytes that they move.
std::map<Place, std::int64_t> bytes_by_place(const std::vector<Program>& stages) {
  std::map<Place, std::int64_t> bytes;
  for (std::size_t stage = 0; stage < stages.size(); ++stage)
    for (const ProgramCommand& command : stages[stage].commands)
      if (command.type == ProgramCommand::Type::launch || command.type == ProgramCommand::Type::upload)
        bytes[place_of(static_cast<std::int32_t>(stage), command.tag)] += cost_bytes(stages[stage], command);
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

// Latency takes time, but does not fill the link, whose two directions do not disturb each other.
CommandTime transfer_time(const Program& program, const ProgramCommand& command, const plan::RunConfig& run,
                          double rate_alone) {
  const std::int32_t size = program.group_size(command);
  if (size < 2 || run.no_comm) return {};
  std::int64_t sent = 0, received = 0, steps = 0;
  for (const Transfer& transfer : program.transfers(command)) {
    const bool is_receive = transfer.collective == Collective::receive;
    const std::int64_t bytes = is_receive ? message_bytes(transfer) : bytes_on_wire(transfer, size);
    if (!is_receive) sent += bytes;
    if (transfer.collective != Collective::send) received += bytes;
    steps = std::max(steps, ring_steps(transfer, size));
  }
  const SetLink link = set_link(run).value_or(SetLink{rate_alone, run.link_latency_us * 1e3, false});
  const auto on_link = [&](std::int64_t bytes) { return static_cast<double>(bytes) / link.bytes_per_ns; };
  const double latency_ns = link.latency_by_step ? link.latency_ns * static_cast<double>(steps) : link.latency_ns;
  return {.alone_ns = static_cast<std::int64_t>(on_link(std::max(sent, received)) + latency_ns),
          .links = {{{.send_ns = static_cast<std::int64_t>(on_link(sent)),
                      .receive_ns = static_cast<std::int64_t>(on_link(received))}}}};
}

// Whether a step sends anything.
bool communicates(const std::vector<Program>& stages) {
  return std::ranges::any_of(stages, [](const Program& program) {
    return std::ranges::any_of(program.commands, [&](const ProgramCommand& command) {
      return command.type == ProgramCommand::Type::communicate && program.group_size(command) > 1;
    });
  });
}

std::string transfers_text(const plan::Config& config, const std::vector<Program>& stages,
                           std::optional<double> rate_alone) {
  if (config.run.no_comm || !communicates(stages)) return "; no transfers";
  if (config.run.emulated_link)
    return fmt::format("; transfers at the emulated link's {} GB/s", config.run.emulated_link->gb_per_s);
  if (config.run.link_gbps > 0) return fmt::format("; transfers at the link's {} Gbit/s", config.run.link_gbps);
  return fmt::format("; transfers at {:.2f} Gbit/s, measured without concurrent compute", rate_alone.value_or(0) * 8);
}

// The compute of one step, by place.
struct StepCompute {
  std::map<Place, double> ns;
  std::set<std::string> from_own;         // purposes
  std::optional<std::string> unmeasured;  // a purpose
};

StepCompute compute_of(const std::map<Place, std::int64_t>& places, const BoundDurations& measured) {
  StepCompute compute;
  std::optional<ComputeDurations> own;
  for (const auto& [place, bytes] : places) {
    const NameId purpose = std::get<NameId>(place);
    const bool is_own = !measured.no_comm.has(purpose) && measured.own != nullptr;
    if (is_own && !own) own = measured.own();
    const std::optional<double> ns = is_own ? own->of(place) : measured.no_comm.of(place);
    if (!ns) {
      compute.unmeasured = name_of(purpose);
      return compute;
    }
    if (is_own) compute.from_own.emplace(name_of(purpose));
    compute.ns[place] = *ns;
  }
  return compute;
}

std::string own_text(const std::set<std::string>& purposes) {
  if (purposes.empty()) return "";
  return fmt::format("; {} from this cell's own trace, since no cell without transfers has it",
                     fmt::join(purposes, ", "));
}

// Lays the times on the stages and adds up what their kernels take.
StepBound bound_of(const std::vector<Program>& stages, const TimeOf& time_of, std::string source) {
  std::map<NameId, std::int64_t> purpose_ns;
  const StepBounds bounds = step_bounds(stages, [&](std::size_t stage, const ProgramCommand& command) {
    const CommandTime time = time_of(stage, command);
    if (command.type == ProgramCommand::Type::launch && command.tag.kind == Kind::compute)
      purpose_ns[command.tag.purpose] += time.alone_ns;
    return time;
  });
  std::map<std::string, std::int64_t> kernel_ns;
  for (const auto& [purpose, ns] : purpose_ns)
    kernel_ns[analysis::purpose_name(purpose)] = ns / static_cast<std::int64_t>(stages.size());
  return {bounds, std::move(source), std::move(kernel_ns)};
}

}  // namespace

ComputeDurations::ComputeDurations(const analysis::PlaceTimes& times) {
  for (const auto& [place, values] : analysis::medians(times)) {
    median_ns_[place] = values.front();
    purposes_.insert(std::get<NameId>(place));
  }
}

std::optional<double> ComputeDurations::of(const Place& place) const {
  const auto found = median_ns_.find(place);
  return found == median_ns_.end() ? std::nullopt : std::optional(found->second);
}

StepBound step_bound(const plan::Config& config, const BoundDurations& measured) {
  const bool is_paced = set_link(config.run).has_value();
  const std::optional<double> rate =
      is_paced || measured.off == nullptr ? std::nullopt : measured.off->rate(config.run.link_latency_us * 1e3);
  const std::vector<Program> stages = record_stages(config, Detail::costs);
  if (!is_paced && !rate && communicates(stages) && !config.run.no_comm)
    return {std::nullopt, "no cell runs transfers without concurrent compute"};
  const std::map<Place, std::int64_t> bytes = bytes_by_place(stages);
  const StepCompute compute = compute_of(bytes, measured);
  if (compute.unmeasured)
    return {std::nullopt, fmt::format("no duration of {} measured without transfers", *compute.unmeasured)};
  const auto time_of = [&](std::size_t stage, const ProgramCommand& command) -> CommandTime {
    if (command.type == ProgramCommand::Type::communicate)
      return transfer_time(stages[stage], command, config.run, rate.value_or(1));
    const Place place = place_of(static_cast<std::int32_t>(stage), command.tag);
    const double share = static_cast<double>(cost_bytes(stages[stage], command)) / static_cast<double>(bytes.at(place));
    const auto ns = static_cast<std::int64_t>(compute.ns.at(place) * share);
    return {.alone_ns = ns, .device_ns = ns};
  };
  return bound_of(stages, time_of,
                  "compute measured without concurrent transfers" + own_text(compute.from_own) +
                      transfers_text(config, stages, rate));
}

StepBound step_bound(const plan::Config& config, const sim::TimeModel& time) {
  const std::vector<Program> stages = record_stages(config, Detail::costs);
  std::vector<sim::TimesAlone> alone;
  for (const Program& stage : stages) alone.emplace_back(time, stage);
  const auto time_of = [&](std::size_t stage, const ProgramCommand& command) -> CommandTime {
    if (command.type == ProgramCommand::Type::communicate && config.run.no_comm) return {};
    return alone[stage].of(command);
  };
  return bound_of(stages, time_of, "simulated durations, each operation alone");
}

}  // namespace underlap::bench
