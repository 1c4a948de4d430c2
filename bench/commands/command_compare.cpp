// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bench/commands/commands.hpp"
#include "bench/commands/series.hpp"
#include "bench/commands/status_watch.hpp"
#include "platform/atomic_file.hpp"
#include "platform/exit_code.hpp"
#include "platform/flag_values.hpp"
#include "platform/terminal.hpp"
#include "profiler/compare/compare_report.hpp"
#include "profiler/input/trace_files.hpp"
#include "profiler/input/trace_input.hpp"

namespace underlap::bench {
namespace {

struct CompareArguments {
  std::string from;
  std::string to;
  std::vector<std::string> cells;
  std::string markdown;
  bool json = false;
  bool force = false;
  compare::Details details = compare::Details::largest;
};

/// The folder of a run and what it holds.
struct ComparedRun {
  std::filesystem::path folder;
  report::RunResults results = {};
  compare::RunFigures figures = {};
};

bool holds_results(const std::string& path) {
  return std::filesystem::exists(std::filesystem::path(path) / "results.json") ||
         std::filesystem::path(path).filename() == "results.json";
}

ComparedRun read_run(const std::string& path) {
  const std::filesystem::path named = path;
  ComparedRun run{.folder = named.filename() == "results.json" ? named.parent_path() : named};
  run.results = report::read_results(run.folder);
  run.figures = compare::figures_of(run.results, path);
  return run;
}

const report::CellResult& cell_named(const ComparedRun& run, const std::string& name) {
  const auto found = std::ranges::find(run.results.cells, name, &report::CellResult::name);
  if (found != run.results.cells.end()) return *found;
  std::vector<std::string> names;
  for (const report::CellResult& cell : run.results.cells) names.push_back(cell.name);
  throw std::invalid_argument(
      fmt::format("--cells: {} has no cell \"{}\"; it has: {}", run.figures.source, name, fmt::join(names, ", ")));
}

// Nullopt where it was kept by nobody.
std::optional<input::CellTrace> trace_of(const ComparedRun& run, const report::CellResult& cell, StatusWatch& watch) {
  const std::filesystem::path file = run.folder / cell.trace_file;
  if (cell.trace_file.empty() || !std::filesystem::is_regular_file(file)) return std::nullopt;
  return input::read_cell(
      {file.string()}, [](const Trace&) { return attribution::AttributionOptions{}; }, watch);
}

void take_change(compare::Comparison& comparison, const input::CellTrace& from, const input::CellTrace& to) {
  comparison.change = compare::compare_traces({from.trace, from.summary}, {to.trace, to.summary});
  const auto windows = static_cast<double>(comparison.change->windows);
  comparison.from_step_ns = static_cast<double>(comparison.change->from.window_ns) / windows;
  comparison.to_step_ns = static_cast<double>(comparison.change->to.window_ns) / windows;
}

// By their traces where both have them, else by their steps alone.
compare::Comparison compare_cells(const ComparedRun& from_run, const std::string& from_cell, const ComparedRun& to_run,
                                  const std::string& to_cell) {
  StatusWatch watch;
  compare::Comparison comparison{.name = from_cell == to_cell ? from_cell : from_cell + " -> " + to_cell};
  comparison.from_step_ns = compare::find_cell(from_run.figures, from_cell)->metrics.at("step");
  comparison.to_step_ns = compare::find_cell(to_run.figures, to_cell)->metrics.at("step");
  const std::optional<input::CellTrace> from = trace_of(from_run, cell_named(from_run, from_cell), watch);
  if (!from) return comparison;
  if (const std::optional<input::CellTrace> to = trace_of(to_run, cell_named(to_run, to_cell), watch)) {
    watch.say("comparing " + comparison.name);
    take_change(comparison, *from, *to);
  }
  return comparison;
}

void refuse_unless_forced(compare::CompareReport& report, const compare::Runs& from, const compare::Runs& to,
                          bool is_forced) {
  report.forced = compare::not_comparable(from, to);
  if (!report.forced.empty() && !is_forced)
    throw std::invalid_argument(report.forced + "\n  they did not do the same; --force compares all the same");
  report.differences = compare::differences_of(from, to);
}

void note_missing_traces(compare::CompareReport& report) {
  const bool is_missing = std::ranges::any_of(report.comparisons, [](const auto& one) { return !one.change; });
  if (is_missing)
    report.notes.emplace_back(
        "of cells without a trace on both sides steps alone are compared (medians); run.trace and the folder's traces/ "
        "are what the rest comes from");
}

compare::CompareReport compare_runs(const CompareArguments& arguments) {
  const ComparedRun from = read_run(arguments.from), to = read_run(arguments.to);
  compare::check_sides({from.figures}, {to.figures});
  compare::CompareReport report{.from = arguments.from, .to = arguments.to};
  refuse_unless_forced(report, {from.figures}, {to.figures}, arguments.force);
  for (const report::CellResult& cell : from.results.cells) {
    if (compare::find_cell(to.figures, cell.name) == nullptr) {
      report.notes.push_back(fmt::format("cell {} is in {} alone", cell.name, arguments.from));
      continue;
    }
    report.comparisons.push_back(compare_cells(from, cell.name, to, cell.name));
  }
  for (const report::CellResult& cell : to.results.cells)
    if (compare::find_cell(from.figures, cell.name) == nullptr)
      report.notes.push_back(fmt::format("cell {} is in {} alone", cell.name, arguments.to));
  if (report.comparisons.empty())
    throw std::invalid_argument(fmt::format(
        "{} and {} have no cell in common\n  --cells FROM TO compares two of one run", arguments.from, arguments.to));
  note_missing_traces(report);
  return report;
}

// The same run's figures of one cell, named so that both sides have it.
compare::RunFigures of_one_cell(const ComparedRun& run, const std::string& name) {
  compare::RunFigures figures = run.figures;
  const compare::CellFigures cell = *compare::find_cell(figures, cell_named(run, name).name);
  figures.cells = {cell};
  figures.cells.front().name = "cell";
  return figures;
}

compare::CompareReport compare_two_cells(const CompareArguments& arguments) {
  if (!arguments.to.empty()) throw std::invalid_argument("--cells FROM TO are of one run; give that alone");
  if (!holds_results(arguments.from))
    throw std::invalid_argument(arguments.from +
                                ": no run, since it holds no results.json\n  --cells are those of a run");
  const ComparedRun run = read_run(arguments.from);
  const std::string& from = arguments.cells.front();
  const std::string& to = arguments.cells.back();
  if (from == to) throw std::invalid_argument(fmt::format("--cells: {} is given twice", from));
  compare::CompareReport report{.from = from, .to = to};
  refuse_unless_forced(report, {of_one_cell(run, from)}, {of_one_cell(run, to)}, arguments.force);
  report.comparisons = {compare_cells(run, from, run, to)};
  note_missing_traces(report);
  return report;
}

input::CellTrace read_side(const std::string& path, StatusWatch& watch) {
  const input::AttributionOptionsOf options = [](const Trace&) { return attribution::AttributionOptions{}; };
  if (std::filesystem::is_directory(path) && std::filesystem::is_empty(path))
    throw std::invalid_argument(path + ": is empty\n  name a run's folder, a trace or a folder of traces");
  return input::read_cell(input::trace_files({path}), options, watch, input::Keep::by_size);
}

// Figures of the trace's steps, or without steps what else is known of it.
compare::RunFigures facts_of_side(const input::CellTrace& traced, const std::string& path) {
  if (traced.summary.shows_steps()) return compare::figures_of(traced.trace, traced.summary, "trace", path);
  return compare::facts_of(traced.trace, path);
}

compare::CompareReport compare_two_traces(const CompareArguments& arguments) {
  StatusWatch watch;
  const input::CellTrace from = read_side(arguments.from, watch);
  const input::CellTrace to = read_side(arguments.to, watch);
  if (from.files == to.files) throw std::invalid_argument(arguments.from + ": is given twice");
  compare::CompareReport report{.from = arguments.from, .to = arguments.to};
  refuse_unless_forced(report, {facts_of_side(from, arguments.from)}, {facts_of_side(to, arguments.to)},
                       arguments.force);
  if (from.summary.shows_steps() != to.summary.shows_steps())
    throw std::invalid_argument(
        fmt::format("{}: its steps are not known, those of {} are\n  a step cannot be held against a "
                    "whole trace; see `underlap analyze`",
                    from.summary.shows_steps() ? arguments.to : arguments.from,
                    from.summary.shows_steps() ? arguments.from : arguments.to));
  if (!from.summary.shows_steps())
    report.notes.emplace_back(
        "steps are not known: the traces are compared from their first work to their "
        "last, as one step");
  watch.say("comparing");
  take_change(report.comparisons.emplace_back(), from, to);
  return report;
}

compare::CompareReport report_of(const CompareArguments& arguments) {
  if (!arguments.cells.empty()) return compare_two_cells(arguments);
  if (arguments.to.empty()) throw std::invalid_argument("B is required, unless --cells FROM TO names two cells of A");
  for (const std::string& path : {arguments.from, arguments.to})
    if (is_series(path))
      throw std::invalid_argument(
          fmt::format("{0}: holds several runs\n  name one of them, {0}/run-00, or judge all: "
                      "underlap gate",
                      path));
  const bool from_run = holds_results(arguments.from), to_run = holds_results(arguments.to);
  if (from_run != to_run)
    throw std::invalid_argument(
        fmt::format("{} is a run and {} is none; name two runs, or the traces of both (a run's are in its traces/)",
                    from_run ? arguments.from : arguments.to, from_run ? arguments.to : arguments.from));
  return from_run ? compare_runs(arguments) : compare_two_traces(arguments);
}

void check_outputs(const CompareArguments& arguments) {
  const bool prints_markdown = arguments.markdown == "-";
  if (arguments.json && prints_markdown)
    throw std::invalid_argument("--json and --markdown - are different outputs; print one of them");
  if ((arguments.json || prints_markdown) && arguments.details == compare::Details::all)
    throw std::invalid_argument("--details is for the tables of a terminal; the other outputs hold all cells");
}

int run_compare(const CompareArguments& arguments) {
  check_outputs(arguments);
  const compare::CompareReport report = report_of(arguments);
  if (!arguments.markdown.empty() && arguments.markdown != "-")
    write_file_atomically(arguments.markdown, compare::compare_markdown(report));
  if (arguments.json)
    fmt::print("{}", compare::compare_json(report));
  else if (arguments.markdown == "-")
    fmt::print("{}", compare::compare_markdown(report));
  else
    fmt::print("{}", compare::compare_text(report, terminal_format(STDOUT_FILENO), arguments.details));
  return kWell;
}

}  // namespace

void add_compare_command(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<CompareArguments>();
  CLI::App* command = app.add_subcommand("compare", "Say where the difference between two runs or traces went");
  command->add_option("A", arguments->from, "the baseline: a run's folder, a trace, or a folder or pattern of traces")
      ->required();
  command->add_option("B", arguments->to, "the candidate: the same");
  command->add_option("--cells", arguments->cells, "two cells of run A, instead of B")->expected(2)->check(not_empty());
  command->add_flag_callback(
      "--details", [arguments] { arguments->details = compare::Details::all; },
      "of several cells all, and all operations");
  command->add_option("--markdown", arguments->markdown, "write Markdown to this file, or -")->check(not_empty());
  command->add_flag("--json", arguments->json, "print JSON instead, schema underlap.compare/1");
  command->add_flag("--force", arguments->force, "compare what did different work, and say so on every line");
  command->footer(
      "Example: underlap compare out/main out/pr\n"
      "         underlap compare results/quick/paced --cells off both\n"
      "         underlap compare before/ after/    # traces of PyTorch, Nsight Systems or ours");
  command->callback([arguments, &exit_code] { exit_code = run_compare(*arguments); });
}

}  // namespace underlap::bench
