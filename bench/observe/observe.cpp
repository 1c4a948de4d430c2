// SPDX-License-Identifier: Apache-2.0
#include "bench/observe/observe.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "impl/step/techniques.hpp"

namespace underlap::bench {
namespace {

using report::OverlapKnob;

// Adds the plan's entry for the knob; a plan need not list a knob that was not requested.
OverlapKnob row_of(const ModeSwitch& of, const plan::Plan& plan) {
  OverlapKnob row{.name = of.knob,
                  .requested = "null",
                  .effective = to_json_text(of.effective),
                  .is_asked_for = of.is_on,
                  .is_on = of.is_on,
                  .gate = {},
                  .group_size = of.group_size,
                  .waits_are_the_schedules = of.waits_are_the_schedules,
                  .is_its_own = {}};
  if (const plan::Knob* knob = plan::find_knob(plan, of.knob)) {
    row.requested = to_json_text(knob->requested);
    const bool is_overruled = knob->source == "auto" && !is_null(knob->requested) && knob->requested != knob->effective;
    if (knob->source == "gate" || is_overruled) row.gate = knob->reason;
    const bool is_yes_or_no = std::holds_alternative<bool>(of.effective);
    row.is_asked_for = of.is_on || (is_yes_or_no ? knob->requested == plan::Value(true) : !row.gate.empty());
  }
  return row;
}

// Every knob of `plan` that affects overlap, mode by mode (impl/device/mode_techniques.hpp).
std::vector<OverlapKnob> overlap_knobs(const plan::Plan& plan) {
  std::vector<OverlapKnob> rows;
  for (const ModeSwitch& each : overlap_switches(plan)) {
    rows.push_back(row_of(each, plan));
    rows.back().is_its_own = [each](const Tag& tag) { return each.moves(tag); };
  }
  return rows;
}

// The knobs whose communication can be recognized in a trace of another program, by mode and collective. For gradients
// and parameters, norms and scales count with them if they use the same collective. `plan` must outlive the rows.
std::vector<OverlapKnob> foreign_overlap_knobs(const plan::Plan& plan) {
  std::vector<OverlapKnob> rows;
  for (ModeSwitch& each : overlap_switches(plan)) {
    if (!each.is_foreign) continue;
    rows.push_back(row_of(each, plan));
    rows.back().is_its_own = [mode = each.mode, is_foreign = std::move(each.is_foreign)](const Tag& tag) {
      return tag.mode == mode && is_foreign(tag);
    };
  }
  return rows;
}

bool is_foreign(const Trace& trace) { return trace.metadata.contains("format") && !trace.metadata.contains("backend"); }

// A backend without hardware queues has one thread per stream, regardless of what the plan sets for CUDA. Traces of
// other programs are from GPUs.
bool has_one_connection(const plan::Config& config, const Trace& trace) {
  const auto said = trace.metadata.find("backend");
  const auto named = said == trace.metadata.end() ? std::nullopt : backend_from(said->second);
  return (is_foreign(trace) || traits_of(named.value_or(config.run.backend)).has_hardware_queues) &&
         config.environment.cuda_device_max_connections == 1;
}

}  // namespace

std::vector<report::ObservedKnob> observe(const plan::Plan& plan, const Trace& trace,
                                          const analysis::Summary& summary) {
  const report::TracedRun run{.has_transfers = !plan.config.run.no_comm,
                              .one_connection = has_one_connection(plan.config, trace)};
  return report::observe(is_foreign(trace) ? foreign_overlap_knobs(plan) : overlap_knobs(plan), run, trace, summary);
}

const plan::Cell& cell_of_trace(const plan::Matrix& matrix, const Trace& trace,
                                const std::optional<std::string>& wanted) {
  const auto said = trace.metadata.find("cell");
  const std::string name = wanted ? *wanted : said == trace.metadata.end() ? "" : said->second;
  std::string names;
  for (const plan::Cell& cell : matrix.cells) {
    if (cell.name == name) return cell;
    names += (names.empty() ? "" : ", ") + cell.name;
  }
  if (matrix.cells.size() == 1 && !wanted) return matrix.cells.front();
  if (name.empty()) throw std::invalid_argument("the trace does not name its cell; choose one with --cell: " + names);
  throw std::invalid_argument(
      fmt::format("{} \"{}\", which the configuration does not have; choose one with --cell: {}",
                  wanted ? "--cell is" : "the trace is from cell", name, names));
}

std::string other_cell_text(const plan::Cell& cell, const Trace& trace) {
  const auto said = trace.metadata.find("cell");
  if (said == trace.metadata.end() || said->second == cell.name) return "";
  return fmt::format("the trace is from cell \"{}\", but is compared with cell \"{}\"", said->second, cell.name);
}

}  // namespace underlap::bench
