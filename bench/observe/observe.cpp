// SPDX-License-Identifier: Apache-2.0
#include "bench/observe/observe.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "bench/observe/overlap_knobs.hpp"

namespace underlap::bench {
namespace {

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
