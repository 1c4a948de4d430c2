// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "bench/commands/commands.hpp"
#include "bench/commands/config_input.hpp"
#include "bench/commands/page_output.hpp"
#include "bench/commands/status_watch.hpp"
#include "bench/commands/steps_option.hpp"
#include "bench/observe/observe.hpp"
#include "impl/plan/layout/rank_layouts.hpp"
#include "platform/atomic_file.hpp"
#include "platform/exit_code.hpp"
#include "platform/flag_values.hpp"
#include "platform/terminal.hpp"
#include "platform/text/escape.hpp"
#include "platform/text/output.hpp"
#include "profiler/analysis/analysis.hpp"
#include "profiler/analysis/breakdown.hpp"
#include "profiler/analysis/details/reasons_table.hpp"
#include "profiler/analysis/inspector/inspector_join.hpp"
#include "profiler/analysis/windows.hpp"
#include "profiler/attribution/attribution.hpp"
#include "profiler/attribution/mode_map.hpp"
#include "profiler/formats/inspector/inspector_log.hpp"
#include "profiler/graph/details/details.hpp"
#include "profiler/input/trace_files.hpp"
#include "profiler/input/trace_input.hpp"
#include "profiler/report/page/analysis_page.hpp"

namespace underlap::bench {
namespace {

constexpr std::int32_t kNarrowest = 40;
constexpr std::int32_t kWidest = 1000;

bool is_directory(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

struct AnalyzeArguments {
  std::vector<std::string> traces;
  std::string config;
  std::optional<std::string> cell;
  std::string mode_map;
  std::vector<std::string> inspector;
  std::string steps;
  std::string html;
  bool json = false;
  bool csv = false;
  bool details = false;
  std::vector<std::string> by;
  bool timeline = false;
  std::optional<std::int32_t> step;
  std::optional<std::int32_t> width;

  bool prints_page() const { return html == "-"; }
  bool is_of_folder() const { return traces.size() == 1 && input::is_run_folder(traces.front()); }

  std::vector<analysis::Breakdown> breakdowns() const {
    std::vector<analysis::Breakdown> list;
    for (const std::string& name : by) list.push_back(*analysis::breakdown_from(name));
    return list;
  }
};

// Rejects options that would be ignored.
void check_arguments(const AnalyzeArguments& arguments) {
  if (arguments.step && *arguments.step < 0)
    throw std::invalid_argument(fmt::format("--step is {}; steps start at 0", *arguments.step));
  if (arguments.step && !arguments.timeline)
    throw std::invalid_argument("--step applies to --timeline only; add --timeline or remove --step");
  if (arguments.width && !arguments.timeline)
    throw std::invalid_argument("--width applies to --timeline only; add --timeline or remove --width");
  if (arguments.json && arguments.timeline)
    throw std::invalid_argument("--json and --timeline cannot be combined; use one of them");
  if (arguments.prints_page() && (arguments.json || arguments.csv || arguments.timeline))
    throw std::invalid_argument(
        "--html - writes to standard output; remove --json, --csv and --timeline, or name a file");
  if (arguments.csv && (arguments.json || arguments.timeline || arguments.details))
    throw std::invalid_argument("--csv prints one table; remove --json, --timeline and --details, or --csv");
  if (arguments.csv && arguments.by.size() > 1)
    throw std::invalid_argument("--csv prints one table; give --by one value");
  if (arguments.csv && arguments.is_of_folder() && !arguments.cell)
    throw std::invalid_argument("--csv prints one table, but a run folder has several cells; choose one with --cell");
  if (arguments.cell && arguments.config.empty() && !arguments.is_of_folder())
    throw std::invalid_argument("--cell requires --config or a run folder");
  if (!arguments.inspector.empty() && arguments.csv)
    throw std::invalid_argument("--csv prints one table; remove --inspector");
  if (!arguments.inspector.empty() && arguments.is_of_folder())
    throw std::invalid_argument("--inspector applies to the traces of one job, not to a run folder");
  if (arguments.traces.size() > 1)
    for (const std::string& path : arguments.traces)
      if (is_directory(path))
        throw std::invalid_argument(
            path + ": a folder cannot be combined with other traces; give one folder, or traces of one cell");
}

// The width of the terminal, if there is one.
std::int32_t timeline_width(const AnalyzeArguments& arguments) {
  constexpr std::int32_t kInAPipe = 120;
  const std::int32_t width = terminal_width(STDOUT_FILENO);
  return arguments.width.value_or(width > kWidest ? kInAPipe : std::max(width, kNarrowest));
}

// The first measured step, unless one was requested.
analysis::TimelineRequest timeline_request(const AnalyzeArguments& arguments, const analysis::Summary& summary) {
  std::set<std::int32_t> steps;
  const std::vector<analysis::Window> windows = summary.shown_windows();
  for (const analysis::Window& window : windows) {
    if (window.step < 0) continue;
    steps.insert(window.step);
    if (!arguments.step || window.step == *arguments.step)
      return {.block = window.block, .step = window.step, .width = timeline_width(arguments), .steps = windows};
  }
  if (steps.empty()) throw std::invalid_argument("--timeline: the trace has no measured step");
  throw std::invalid_argument(
      fmt::format("--step: the trace has no measured step {}; use one of {}", *arguments.step, fmt::join(steps, ", ")));
}

input::AttributionOptionsOf attribution_options(const AnalyzeArguments& arguments,
                                                const std::optional<plan::Matrix>& matrix) {
  attribution::AttributionOptions options;
  if (!arguments.mode_map.empty()) options.mode_map = attribution::read_mode_map(arguments.mode_map);
  return [&arguments, &matrix, options](const Trace& trace) {
    attribution::AttributionOptions of_trace = options;
    if (matrix)
      of_trace.layouts = plan::rank_layouts(cell_of_trace(*matrix, trace, arguments.cell).plan.config.parallel);
    return of_trace;
  };
}

// The cell of the traces, and its knobs as the traces show them.
struct Observation {
  std::string cell;
  std::string other_cell;  // a line if the traces belong to another cell
  std::vector<report::ObservedKnob> knobs;
};

// One cell's trace and its analysis.
struct Analysis {
  const input::CellTrace& traced;
  const analysis::Summary& summary;
  std::optional<graph::Details> details;
  std::optional<Observation> observation;
  std::optional<analysis::InspectorJoin> inspector{};
};

// Names of a few files; of many, the first and the last.
std::string names_of(const std::vector<std::string>& files) {
  constexpr std::size_t kNamed = 3;
  if (files.size() <= kNamed) return fmt::format("{}", fmt::join(files, ", "));
  return fmt::format("{} to {}, {} files", files.front(), files.back(), files.size());
}

Analysis analyze(const AnalyzeArguments& arguments, const std::optional<plan::Matrix>& matrix,
                 const input::CellTrace& traced) {
  for (const std::string& unused : attribution::unused_rules(traced.attribution))
    print_error("{}: {}\n", visible_text(names_of(traced.files)), unused);
  Analysis result{traced, traced.summary, std::nullopt, std::nullopt};
  if (arguments.details)
    result.details = graph::find_details(traced.trace, *traced.summary.communications, traced.summary.shown_windows());
  if (!arguments.inspector.empty()) {
    std::vector<InspectorRecord> records;
    for (const std::string& file : input::trace_files(arguments.inspector)) {
      formats::InspectorLog log = formats::read_inspector_log(file);
      records.insert(records.end(), log.records.begin(), log.records.end());
      for (const auto& [reason, count] : log.skipped) print_error("{}: skipped {}: {}\n", file, count, reason);
    }
    result.inspector = analysis::join_inspector(traced.trace, records, traced.summary.shown_windows());
  }
  if (!matrix) return result;
  const plan::Cell& cell = cell_of_trace(*matrix, traced.trace, arguments.cell);
  result.observation = {cell.name, other_cell_text(cell, traced.trace),
                        observe(cell.plan, traced.trace, result.summary)};
  if (const std::string& other = result.observation->other_cell; !other.empty()) print_error("{}\n", other);
  return result;
}

std::string json_of(const AnalyzeArguments& arguments, const Analysis& analysis) {
  const input::CellTrace& traced = analysis.traced;
  std::string json =
      with_attribution(analysis::analysis_json(traced.trace, analysis.summary, traced.files, arguments.breakdowns()),
                       traced.attribution);
  if (analysis.details) json = graph::with_details(json, traced.trace, analysis.summary, *analysis.details);
  if (analysis.inspector) json = analysis::with_inspector(json, *analysis.inspector);
  return analysis.observation ? with_observed(json, analysis.observation->cell, analysis.observation->knobs) : json;
}

// The reasons for exposure come first with the details; a page has them in a section of its own.
enum class Reasons : bool { left_out, included };

std::vector<TitledTable> more_tables(const Analysis& analysis, Reasons reasons) {
  constexpr std::size_t kMostReasons = 16;
  std::vector<TitledTable> tables = attribution_tables(analysis.traced.attribution);
  if (analysis.details) {
    if (reasons == Reasons::included) tables.push_back(analysis::reasons_table(analysis.summary.reasons, kMostReasons));
    for (TitledTable& titled : graph::details_tables(analysis.summary, *analysis.details))
      tables.push_back(std::move(titled));
  }
  if (analysis.inspector) tables.push_back(analysis::inspector_table(*analysis.inspector));
  if (const auto& observation = analysis.observation)
    tables.push_back({.title = "Requested, in effect and observed, cell " + observation->cell,
                      .table = observed_table(observation->knobs)});
  return tables;
}

void print(const AnalyzeArguments& arguments, const Analysis& analysis) {
  const input::CellTrace& traced = analysis.traced;
  if (arguments.csv) {
    const analysis::Breakdown by = arguments.by.empty() ? analysis::Breakdown::rank : arguments.breakdowns().front();
    print_data(analysis::csv(analysis::breakdown(traced.trace, analysis.summary, by)));
    return;
  }
  // Before anything is printed: a trace without that step is an error.
  const std::string timeline =
      arguments.timeline ? analysis::text_timeline(traced.trace, timeline_request(arguments, analysis.summary)) : "";
  const std::string cell = traced.cell.empty() ? "" : fmt::format("cell {}, ", visible_text(traced.cell));
  print_text(
      "{}{}\n\n{}", cell, visible_text(names_of(traced.files)),
      analysis::analysis_table(traced.trace, analysis.summary, terminal_format(STDOUT_FILENO), arguments.breakdowns()));
  for (const TitledTable& titled : more_tables(analysis, Reasons::included))
    print_text("\n{}", render(titled, terminal_format(STDOUT_FILENO)));
  if (arguments.timeline) print_text("\n{}", timeline);
}

/// Prints the analyses of a command in turn, and collects the parts of its page.
class AnalysisOutput {
 public:
  AnalysisOutput(const AnalyzeArguments& arguments, std::string command_line)
      : arguments_(arguments), command_line_(std::move(command_line)) {}

  void show(const Analysis& analysis) {
    if (arguments_.prints_page()) return;
    print_data(separator_);
    separator_ = arguments_.json ? "," : "\n\n";
    if (arguments_.json)
      print_data(json_of(arguments_, analysis));
    else
      print(arguments_, analysis);
  }

  void add_to_page(const Analysis& analysis) {
    if (arguments_.html.empty()) return;
    const int level = arguments_.is_of_folder() ? 3 : 2;
    const input::CellTrace& traced = analysis.traced;
    parts_.push_back(
        {arguments_.is_of_folder() ? traced.cell : "", names_of(traced.files),
         report::analysis_part(traced.trace, traced.summary, more_tables(analysis, Reasons::left_out), level)});
    files_.insert(files_.end(), traced.files.begin(), traced.files.end());
  }

  void write_page_of_all() const {
    if (!arguments_.html.empty())
      write_page(arguments_.html, report::analysis_html(parts_, page_facts(command_line_, files_)));
  }

 private:
  const AnalyzeArguments& arguments_;
  std::string command_line_;
  std::string separator_;
  std::vector<report::AnalysisPart> parts_;
  std::vector<std::string> files_;
};

void analyze_folder(const AnalyzeArguments& arguments, const std::optional<plan::Matrix>& matrix,
                    AnalysisOutput& output) {
  if (arguments.json) print_data("{\"schema\":\"underlap.analyses/1\",\"cells\":[");
  StatusWatch watch;
  input::for_each_cell(arguments.traces.front(), arguments.cell, attribution_options(arguments, matrix), watch,
                       [&](const input::CellTrace& traced) {
                         const Analysis analysis = analyze(arguments, matrix, traced);
                         output.add_to_page(analysis);
                         output.show(analysis);
                       },
                       {.steps = steps_of_option(arguments.steps), .reasons = true});
  if (arguments.json) print_data("]}\n");
}

int run_analyze(const AnalyzeArguments& arguments, const std::string& command_line) {
  check_arguments(arguments);
  check_output_file("--html", arguments.html);
  std::optional<plan::Matrix> matrix;
  if (!arguments.config.empty()) matrix = read_matrix(arguments.config);
  if (matrix && matrix->has_errors()) {
    print_errors(*matrix);
    return kBadInput;
  }
  AnalysisOutput output(arguments, command_line);
  if (arguments.is_of_folder()) {
    analyze_folder(arguments, matrix, output);
    output.write_page_of_all();
    return kOk;
  }
  StatusWatch watch;
  const bool needs_everything = !arguments.config.empty() || arguments.details;
  const input::CellTrace traced =
      input::read_cell(input::trace_files(arguments.traces), attribution_options(arguments, matrix), watch,
                       {.keep = needs_everything ? input::Keep::everything : input::Keep::by_size,
                        .steps = steps_of_option(arguments.steps),
                        .reasons = true});
  const Analysis analysis = analyze(arguments, matrix, traced);
  output.add_to_page(analysis);
  output.write_page_of_all();  // first, as who reads the text may close the pipe
  output.show(analysis);
  if (arguments.json) print_data("\n");
  return kOk;
}

std::vector<std::string> breakdown_names() {
  std::vector<std::string> names;
  for (int i = 0; i < analysis::kNumBreakdowns; ++i) names.emplace_back(to_string(static_cast<analysis::Breakdown>(i)));
  return names;
}

}  // namespace

void add_analyze_command(CLI::App& app, int& exit_code, const std::string& command_line) {
  auto arguments = std::make_shared<AnalyzeArguments>();
  CLI::App* command =
      app.add_subcommand("analyze", "Split the steps of traces into compute, hidden and exposed communication");
  command
      ->add_option("TRACE", arguments->traces,
                   "a run folder, or the traces of one job (files, folder or quoted glob pattern), one per rank. "
                   "Formats: PyTorch profiler, JAX, rocprofv3 and Ascend .json[.gz]; PyTorch profiler and rocprofv3 "
                   ".pftrace; Nsight .sqlite; Perfetto")
      ->required();
  command->add_option("--config", arguments->config,
                      "configuration of the job (YAML): also show whether each overlap knob was observed");
  command->add_option("--cell", arguments->cell,
                      "show only this cell of a run folder; or the cell of --config to compare the traces with "
                      "(default: the one named in the traces)");
  command
      ->add_option("--mode-map", arguments->mode_map,
                   "YAML file that assigns groups, kernels, streams or ranks to modes of parallelism, see `underlap "
                   "help mode-map`")
      ->check(not_empty());
  command->add_option(
      "--inspector", arguments->inspector,
      "logs of the NCCL or RCCL Inspector plugin from the same run (files or quoted glob pattern): also show "
      "bus bandwidth");
  add_steps_option(*command, arguments->steps);
  command->add_flag("--json", arguments->json,
                    "print JSON (underlap.analysis/1; for a run folder underlap.analyses/1)");
  command
      ->add_option("--by", arguments->by,
                   "extra tables by mode, purpose, stream, rank, step, kernel or hidden (by concurrent compute); "
                   "several with commas")
      ->delimiter(',')
      ->check(CLI::IsMember(breakdown_names()));
  command->add_flag("--csv", arguments->csv, "print only the table of --by (default: rank), as CSV");
  command
      ->add_option("--html", arguments->html,
                   "also write a self-contained HTML page with bars, a timeline of the median step and all tables to "
                   "this file; or only the page, to -")
      ->check(not_empty());
  command->add_flag("--details", arguments->details,
                    "also late ranks and why, bandwidth, slowed compute, idle time, critical path, and the step time "
                    "without each of them");
  command->add_flag("--timeline", arguments->timeline, "draw one step as text");
  command->add_option("--step", arguments->step, "step to draw (default: the first measured one)")->check(not_empty());
  command->add_option("--width", arguments->width, "width of the drawing in columns (default: the terminal's)")
      ->check(CLI::Range(kNarrowest, kWidest));
  command->footer(
      "Example: underlap analyze DIR\n"
      "         underlap analyze 'traces/rank*.json.gz' --by mode,kernel\n"
      "         underlap analyze DIR --cell both --timeline\n"
      "         underlap analyze DIR --html page.html\n"
      "         underlap analyze trace.json.gz --steps train_batch,10:19\n"
      "         underlap analyze DIR --config bench/matrices/quick.yaml");
  command->callback([arguments, &exit_code, command_line] { exit_code = run_analyze(*arguments, command_line); });
}

}  // namespace underlap::bench
