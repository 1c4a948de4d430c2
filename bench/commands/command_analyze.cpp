// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include "bench/commands/commands.hpp"
#include "bench/commands/config_input.hpp"
#include "bench/observe/observe.hpp"
#include "platform/exit_code.hpp"
#include "platform/terminal.hpp"
#include "profiler/analysis/analysis.hpp"
#include "profiler/analysis/timeline_text.hpp"
#include "profiler/analysis/windows.hpp"
#include "profiler/formats/format.hpp"

namespace underlap::bench {
namespace {

struct AnalyzeArguments {
  std::vector<std::string> traces;
  std::string config;
  std::optional<std::string> cell;
  bool json = false;
  bool timeline = false;
  std::int32_t step = -1;
  std::int32_t width = 120;
};

// The first measured step, unless one was asked for.
analysis::TimelineRequest timeline_request(const AnalyzeArguments& arguments, const analysis::Summary& summary) {
  for (const analysis::RankSummary& rank : summary.ranks)
    for (const analysis::Window& window : rank.windows)
      if (window.step >= 0 && (arguments.step < 0 || window.step == arguments.step))
        return {.block = window.block, .step = window.step, .width = arguments.width};
  throw std::invalid_argument(arguments.step < 0
                                  ? "--timeline: the trace has no measured step"
                                  : fmt::format("--step: the trace has no measured step {}", arguments.step));
}

// Two cells have the same ranks and steps, and adding them up would mean nothing.
Trace read_traces(const std::vector<std::string>& paths) {
  Trace all;
  std::map<std::int32_t, std::string> file_of_rank;
  for (const std::string& path : paths) {
    if (!std::filesystem::exists(path)) throw std::invalid_argument(path + ": no such file");
    if (std::filesystem::is_directory(path)) throw std::invalid_argument(path + ": a directory, not a trace");
    const Trace trace = formats::read_trace(path);
    for (const std::int32_t rank : analysis::ranks_of(trace))
      if (const auto [entry, is_new] = file_of_rank.emplace(rank, path); !is_new)
        throw std::invalid_argument(
            fmt::format("{} and {} both hold rank {}; analyze one cell of a run at a time", entry->second, path, rank));
    all.append(trace);
  }
  return all;
}

// The cell that the traces are of, and what they show of its knobs.
struct Observation {
  std::string cell;
  std::string other_cell;  // a line where the traces are of another
  std::vector<report::ObservedKnob> knobs;
};

Observation observe_config(const plan::Matrix& matrix, const AnalyzeArguments& arguments, const Trace& trace,
                           const analysis::Summary& summary) {
  const plan::Cell& cell = cell_of_trace(matrix, trace, arguments.cell);
  return {cell.name, other_cell_text(cell, trace), observe(cell.plan, trace, summary)};
}

void print_json(const Trace& trace, const analysis::Summary& summary, const std::optional<Observation>& observation) {
  const std::string json = analysis::analysis_json(trace, summary);
  fmt::print("{}\n", observation ? with_observed(json, observation->cell, observation->knobs) : json);
}

void print_observation(const Observation& observation) {
  fmt::print("\nRequested, in effect and observed, cell {}\n\n{}", observation.cell,
             render(observed_table(observation.knobs), terminal_format(STDOUT_FILENO)));
}

int run_analyze(const AnalyzeArguments& arguments) {
  if (arguments.cell && arguments.config.empty())
    throw std::invalid_argument("--cell names a cell of --config, which is not given");
  std::optional<plan::Matrix> matrix;
  if (!arguments.config.empty()) matrix = read_matrix(arguments.config);
  if (matrix && matrix->has_errors()) {
    print_errors(*matrix);
    return kBadInput;
  }
  const Trace trace = read_traces(arguments.traces);
  const analysis::Summary summary = analysis::summarise(trace);
  std::optional<Observation> observation;
  if (matrix) observation = observe_config(*matrix, arguments, trace, summary);
  if (observation && !observation->other_cell.empty()) fmt::print(stderr, "{}\n", observation->other_cell);
  if (arguments.json) {
    print_json(trace, summary, observation);
    return kWell;
  }
  fmt::print("{}", analysis::analysis_table(trace, summary, terminal_format(STDOUT_FILENO)));
  if (observation) print_observation(*observation);
  if (arguments.timeline) fmt::print("\n{}", analysis::text_timeline(trace, timeline_request(arguments, summary)));
  return kWell;
}

}  // namespace

void add_analyze_command(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<AnalyzeArguments>();
  CLI::App* command =
      app.add_subcommand("analyze", "Split the steps of traces into compute, hidden and exposed communication");
  command->add_option("TRACE", arguments->traces, "traces of one cell; together they hold each rank once")->required();
  command->add_option("--config", arguments->config,
                      "the configuration that was run, YAML: also show what of each overlap knob was observed");
  command->add_option("--cell", arguments->cell, "the cell of --config (default: the one that the traces name)");
  command->add_flag("--json", arguments->json, "print JSON, schema underlap.analysis/1");
  command->add_flag("--timeline", arguments->timeline, "draw one step as text");
  command->add_option("--step", arguments->step, "the step to draw (default: the first measured one)");
  command->add_option("--width", arguments->width, "columns of the drawing")->check(CLI::Range(40, 1000));
  command->footer(
      "Example: underlap analyze results/runs/paced/traces/03-*.pftrace --timeline\n"
      "         underlap analyze DIR/traces/03-*.pftrace --config bench/matrices/quick.yaml");
  command->callback([arguments, &exit_code] { exit_code = run_analyze(*arguments); });
}

}  // namespace underlap::bench
