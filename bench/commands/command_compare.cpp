// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bench/commands/commands.hpp"
#include "bench/commands/page_output.hpp"
#include "bench/commands/series/series.hpp"
#include "bench/commands/status_watch.hpp"
#include "bench/commands/steps_option.hpp"
#include "platform/atomic_file.hpp"
#include "platform/exit_code.hpp"
#include "platform/flag_values.hpp"
#include "platform/terminal.hpp"
#include "platform/text/output.hpp"
#include "profiler/compare/compare_page.hpp"
#include "profiler/compare/compare_report.hpp"
#include "profiler/input/trace_files.hpp"
#include "profiler/input/trace_input.hpp"
#include "profiler/report/run_folders.hpp"

namespace underlap::bench {
namespace {

struct CompareArguments {
  std::string from;
  std::string to;
  std::vector<std::string> cells;
  std::string markdown;
  std::string html;
  std::string steps;
  bool json = false;
  bool force = false;
  compare::Details details = compare::Details::largest;
};

/// A run and the folder that it is in.
struct RunFolder {
  std::filesystem::path folder;
  compare::ComparedRun run = {};
};

bool holds_results(const std::string& path) { return report::is_results_file(path) || report::find_results(path); }

RunFolder read_run(const std::string& path) {
  RunFolder read{.folder = report::folder_of_run(path)};
  read.run.results = report::read_results(read.folder);
  read.run.figures = compare::figures_of(read.run.results, path);
  return read;
}

attribution::AttributionOptions no_options(const Trace&) { return {}; }

// Nullopt where the run kept none.
std::optional<input::CellTrace> trace_of(const RunFolder& run, const report::CellResult& cell, StatusWatch& watch) {
  const std::optional<std::filesystem::path> file = report::find_trace(run.folder, cell.trace_file);
  if (!file) return std::nullopt;
  return input::read_cell({file->string()}, no_options, watch);
}

compare::ChangeOfCells change_by_traces(const RunFolder& from_run, const RunFolder& to_run) {
  return [&](const report::CellResult& from_cell,
             const report::CellResult& to_cell) -> std::optional<compare::TraceChange> {
    StatusWatch watch;
    const std::optional<input::CellTrace> from = trace_of(from_run, from_cell, watch);
    if (!from) return std::nullopt;
    const std::optional<input::CellTrace> to = trace_of(to_run, to_cell, watch);
    if (!to) return std::nullopt;
    watch.say("comparing " + from_cell.name);
    return compare::compare_traces({from->trace, from->summary}, {to->trace, to->summary});
  };
}

compare::CompareReport compare_runs(const CompareArguments& arguments) {
  const RunFolder from = read_run(arguments.from), to = read_run(arguments.to);
  return compare::report_of_runs(from.run, to.run, arguments.force, change_by_traces(from, to));
}

compare::CompareReport compare_two_cells(const CompareArguments& arguments) {
  if (!arguments.steps.empty()) throw std::invalid_argument("--steps applies to traces, not to --cells; remove one");
  if (!arguments.to.empty())
    throw std::invalid_argument("--cells FROM TO compares two cells of one run; give only that run");
  if (!holds_results(arguments.from))
    throw std::invalid_argument(arguments.from +
                                ": not a run: it contains no results.json\n  --cells requires a run folder");
  const RunFolder run = read_run(arguments.from);
  return compare::report_of_cells(run.run, arguments.cells.front(), arguments.cells.back(), arguments.force,
                                  change_by_traces(run, run));
}

input::CellTrace read_side(const std::string& path, const analysis::StepChoice& steps, StatusWatch& watch) {
  if (std::filesystem::is_directory(path) && std::filesystem::is_empty(path))
    throw std::invalid_argument(path + ": the folder is empty\n  give a run folder, a trace or a folder of traces");
  return input::read_cell(input::trace_files({path}), no_options, watch,
                          {.keep = input::Keep::by_size, .steps = steps});
}

compare::CompareReport compare_two_traces(const CompareArguments& arguments) {
  StatusWatch watch;
  const analysis::StepChoice steps = steps_of_option(arguments.steps);
  const input::CellTrace from = read_side(arguments.from, steps, watch);
  const input::CellTrace to = read_side(arguments.to, steps, watch);
  watch.say("comparing");
  return compare::report_of_traces({arguments.from, {from.trace, from.summary}}, {arguments.to, {to.trace, to.summary}},
                                   arguments.force);
}

compare::CompareReport report_of(const CompareArguments& arguments) {
  if (!arguments.cells.empty()) return compare_two_cells(arguments);
  if (arguments.to.empty()) throw std::invalid_argument("B is required, unless --cells FROM TO names two cells of A");
  for (const std::string& path : {arguments.from, arguments.to})
    if (is_series(path))
      throw std::invalid_argument(fmt::format(
          "{0}: contains several runs\n  give one of them, such as {0}/run-00, or check all: underlap gate", path));
  const bool from_run = holds_results(arguments.from), to_run = holds_results(arguments.to);
  if (from_run != to_run)
    throw std::invalid_argument(
        fmt::format("{} is a run but {} is not; give two runs, or the traces of both (a run's are in its traces/)",
                    from_run ? arguments.from : arguments.to, from_run ? arguments.to : arguments.from));
  if (from_run && !arguments.steps.empty())
    throw std::invalid_argument("--steps applies to traces, not to runs; remove it, or give the traces of both");
  return from_run ? compare_runs(arguments) : compare_two_traces(arguments);
}

void check_outputs(const CompareArguments& arguments) {
  const int printed = arguments.json + (arguments.markdown == "-") + (arguments.html == "-");
  if (printed > 1)
    throw std::invalid_argument("--json, --markdown - and --html - all write to standard output; use one of them");
  if (printed == 1 && arguments.details == compare::Details::all)
    throw std::invalid_argument("--details applies to terminal output only; the other formats contain all cells");
  check_output_file("--html", arguments.html);
}

int run_compare(const CompareArguments& arguments, const std::string& command_line) {
  check_outputs(arguments);
  const compare::CompareReport report = report_of(arguments);
  if (!arguments.markdown.empty() && arguments.markdown != "-")
    write_file_atomically(arguments.markdown, compare::compare_markdown(report));
  if (!arguments.html.empty()) write_page(arguments.html, compare::compare_html(report, page_facts(command_line)));
  if (arguments.json)
    print_data(compare::compare_json(report));
  else if (arguments.markdown == "-")
    print_data(compare::compare_markdown(report));
  else if (arguments.html != "-")
    print_text(compare::compare_text(report, terminal_format(STDOUT_FILENO), arguments.details));
  return kOk;
}

}  // namespace

void add_compare_command(CLI::App& app, int& exit_code, const std::string& command_line) {
  auto arguments = std::make_shared<CompareArguments>();
  CLI::App* command = app.add_subcommand("compare", "Explain why two runs or traces differ");
  command->add_option("A", arguments->from, "baseline: a run folder, a trace, or a folder or glob pattern of traces")
      ->required();
  command->add_option("B", arguments->to, "candidate: same kinds");
  command->add_option("--cells", arguments->cells, "compare two cells of run A instead of A and B")
      ->expected(2)
      ->check(not_empty());
  command->add_flag_callback(
      "--details", [arguments] { arguments->details = compare::Details::all; },
      "all cells, totals by stream and purpose, every operation");
  add_steps_option(*command, arguments->steps);
  command->add_option("--markdown", arguments->markdown, "write Markdown to this file, or -")->check(not_empty());
  command
      ->add_option("--html", arguments->html,
                   "write a self-contained HTML page with bars and all tables to this file, or -")
      ->check(not_empty());
  command->add_flag("--json", arguments->json, "print JSON (underlap.compare/1)");
  command->add_flag("--force", arguments->force, "compare even if the two sides did different work");
  command->footer(
      "Example: underlap compare out/main out/pr\n         underlap compare results/h100/overlap --cells off both\n    "
      "     underlap compare before/ after/    # traces of any supported tool");
  command->callback([arguments, &exit_code, command_line] { exit_code = run_compare(*arguments, command_line); });
}

}  // namespace underlap::bench
