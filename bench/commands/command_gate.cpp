// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bench/commands/commands.hpp"
#include "bench/commands/page_output.hpp"
#include "bench/commands/status_watch.hpp"
#include "bench/commands/viewer_program.hpp"
#include "platform/atomic_file.hpp"
#include "platform/exit_code.hpp"
#include "platform/flag_values.hpp"
#include "platform/temporary_folder.hpp"
#include "platform/terminal.hpp"
#include "platform/text/output.hpp"
#include "profiler/gate/gate.hpp"
#include "profiler/gate/gate_page.hpp"
#include "profiler/gate/named_runs.hpp"
#include "profiler/gate/reports.hpp"

namespace underlap::bench {
namespace {

constexpr const char* kMaxRegression = "5%";

struct GateArguments {
  std::string baseline;
  std::string candidate;
  std::vector<std::string> more_baselines;
  std::vector<std::string> more_candidates;
  std::string max_regression;
  std::string max_exposed;
  std::string rules;
  std::vector<std::string> cells;
  std::string run_sd;
  std::string inconclusive = "exit";
  std::string markdown;
  std::string html;
  std::string picture;
  std::string junit;
  bool json = false;
  bool force = false;
  gate::Rows rows = gate::Rows::notable;
};

using Runs = std::vector<compare::RunFigures>;

Runs runs_of(const std::string& first, std::vector<std::string> more) {
  StatusWatch watch;
  more.insert(more.begin(), first);
  return gate::runs_named(more, watch);
}

// The baseline's cells are what is judged.
void check_patterns(const Runs& baseline, const std::vector<std::string>& patterns) {
  std::vector<std::string> names;
  for (const compare::RunFigures& run : baseline)
    for (const compare::CellFigures& cell : run.cells)
      if (std::ranges::find(names, cell.name) == names.end()) names.push_back(cell.name);
  for (const std::string& pattern : patterns)
    if (std::ranges::none_of(names, [&](const std::string& name) { return gate::matches(pattern, name); }))
      throw std::invalid_argument(fmt::format("--cells: {} has no cell \"{}\"; it has: {}", baseline.front().source,
                                              pattern, fmt::join(names, ", ")));
}

// Of every run the cells that a pattern of `patterns` fits.
void keep_cells(Runs& runs, const std::vector<std::string>& patterns) {
  if (patterns.empty()) return;
  for (compare::RunFigures& run : runs)
    std::erase_if(run.cells, [&](const compare::CellFigures& cell) {
      return std::ranges::none_of(patterns,
                                  [&](const std::string& pattern) { return gate::matches(pattern, cell.name); });
    });
}

gate::GateOptions options_of(const GateArguments& arguments) {
  gate::GateOptions options;
  options.rules = gate::default_rules(
      gate::parse_tolerance(arguments.max_regression.empty() ? kMaxRegression : arguments.max_regression));
  if (!arguments.rules.empty()) options.rules = gate::with_rules_of(std::move(options.rules), arguments.rules);
  if (!arguments.max_exposed.empty()) {
    const gate::Tolerance target = gate::parse_tolerance(arguments.max_exposed);
    if (target.ns != 0 || target.share >= 1)
      throw std::invalid_argument("--max-exposed is " + arguments.max_exposed +
                                  "; write a share of the step below 100 %, such as 5%");
    options.max_exposed = target.share;
  }
  if (!arguments.run_sd.empty()) {
    const gate::Tolerance spread = gate::parse_tolerance(arguments.run_sd);
    if (spread.ns != 0 || spread.share <= 0)
      throw std::invalid_argument("--run-sd is " + arguments.run_sd +
                                  "; write a share of the step above 0, such as 1%");
    options.run_sd = spread.share;
  }
  options.is_forced = arguments.force;
  return options;
}

int exit_code_of(gate::Verdict verdict, const std::string& inconclusive) {
  if (verdict == gate::Verdict::pass) return kOk;
  if (verdict == gate::Verdict::regression) return kFound;
  if (inconclusive == "exit") return kInconclusive;
  return inconclusive == "pass" ? kOk : kFound;
}

void check_outputs(const GateArguments& arguments) {
  const int printed = arguments.json + (arguments.markdown == "-") + (arguments.junit == "-") + (arguments.html == "-");
  if (printed > 1)
    throw std::invalid_argument(
        "--json, --markdown -, --html - and --junit - all write to standard output; use one of them");
  if (printed == 1 && arguments.rows == gate::Rows::all)
    throw std::invalid_argument("--details applies to terminal output only; the other formats contain everything");
  check_output_file("--markdown", arguments.markdown);
  check_output_file("--html", arguments.html);
  check_output_file("--junit", arguments.junit);
  check_output_file("--picture", arguments.picture);
}

// The viewer draws it from what --json prints.
void draw(const gate::GateReport& report, const std::string& picture) {
  const TemporaryFolder folder;
  const std::filesystem::path json = folder.path() / "gate.json";
  write_file_atomically(json, gate::gate_json(report));
  run_viewer({"--render", picture, json.string()});
}

// With a target alone, the first path is the candidate. Options about a baseline have no effect then.
void check_sides_are_named(GateArguments& arguments) {
  if (!arguments.candidate.empty()) return;
  if (arguments.max_exposed.empty())
    throw std::invalid_argument("CANDIDATE is required, unless --max-exposed checks one side");
  for (const auto& [option, is_given] : {std::pair{"--with-baseline", !arguments.more_baselines.empty()},
                                         {"--max-regression", !arguments.max_regression.empty()},
                                         {"--rules", !arguments.rules.empty()},
                                         {"--run-sd", !arguments.run_sd.empty()}})
    if (is_given) throw std::invalid_argument(fmt::format("CANDIDATE is required with {}", option));
  std::swap(arguments.baseline, arguments.candidate);
}

int run_gate_command(GateArguments arguments, const std::string& command_line) {
  check_sides_are_named(arguments);
  check_outputs(arguments);
  const gate::GateOptions options = options_of(arguments);
  Runs baseline;
  if (!arguments.baseline.empty()) baseline = runs_of(arguments.baseline, arguments.more_baselines);
  Runs candidate = runs_of(arguments.candidate, arguments.more_candidates);
  check_patterns(baseline.empty() ? candidate : baseline, arguments.cells);
  keep_cells(baseline, arguments.cells);
  keep_cells(candidate, arguments.cells);
  const gate::GateReport report = gate::run_gate(baseline, candidate, options);
  const bool prints_report =
      arguments.json || arguments.markdown == "-" || arguments.html == "-" || arguments.junit == "-";
  if (!arguments.picture.empty()) draw(report, arguments.picture);
  write_output(arguments.markdown, gate::gate_markdown(report, arguments.picture));
  if (!arguments.html.empty()) write_page(arguments.html, gate::gate_html(report, page_facts(command_line)));
  write_output(arguments.junit, gate::gate_junit(report, arguments.inconclusive == "pass"));
  if (arguments.json) print_data(gate::gate_json(report));
  if (!prints_report) {
    print_text(gate::gate_text(report, terminal_format(STDOUT_FILENO), arguments.rows));
    const char* actions = std::getenv("GITHUB_ACTIONS");
    if (actions != nullptr && std::string(actions) == "true") print_data(gate::gate_annotations(report));
  }
  return exit_code_of(report.verdict, arguments.inconclusive);
}

void add_outputs(CLI::App& command, GateArguments& arguments) {
  command.add_flag_callback(
      "--details", [&arguments] { arguments.rows = gate::Rows::all; }, "also show metrics that passed unchanged");
  command.add_option("--markdown", arguments.markdown, "write a pull request comment to this file, or -")
      ->check(not_empty());
  command
      .add_option("--html", arguments.html,
                  "write a self-contained HTML page with verdict and changes to this file, or -")
      ->check(not_empty());
  command
      .add_option("--picture", arguments.picture,
                  "draw the verdicts into this .svg or .png file and show it in the comment; needs the viewer")
      ->check(not_empty());
  command.add_option("--junit", arguments.junit, "write a JUnit XML test suite to this file, or -")->check(not_empty());
  command.add_flag("--json", arguments.json, "print JSON (underlap.gate/1)");
}

}  // namespace

void add_gate_command(CLI::App& app, int& exit_code, const std::string& command_line) {
  auto arguments = std::make_shared<GateArguments>();
  CLI::App* command = app.add_subcommand("gate", "Check runs against a baseline: pass, regression or inconclusive");
  command
      ->add_option("BASELINE", arguments->baseline,
                   "reference: a saved baseline, a run folder, a folder of runs or traces, a trace, or a glob pattern")
      ->required();
  command->add_option("CANDIDATE", arguments->candidate,
                      "runs to check, same kinds; optional with --max-exposed, which then checks BASELINE");
  command->add_option("--with-baseline", arguments->more_baselines, "additional baseline runs");
  command->add_option("--with-candidate", arguments->more_candidates, "additional candidate runs");
  command
      ->add_option("--max-regression", arguments->max_regression,
                   "allowed regression of step, exposed time and efficiency: a share of the step, a time, or both, "
                   "\"2% or 100us\" (default: 5%)")
      ->check(not_empty());
  command
      ->add_option("--max-exposed", arguments->max_exposed,
                   "fail if exposed communication exceeds this share of a cell's step, e.g. 5%; needs no baseline")
      ->check(not_empty());
  command->add_option("--rules", arguments->rules, "gate.yaml, with a tolerance for each metric and cell")
      ->check(not_empty());
  command->add_option("--cells", arguments->cells, "check only these cells: names or glob patterns")
      ->check(not_empty());
  command
      ->add_option("--run-sd", arguments->run_sd,
                   "assumed run-to-run standard deviation if each side has one run, e.g. 1%; estimated from the data "
                   "if there are several")
      ->check(not_empty());
  command
      ->add_option("--inconclusive", arguments->inconclusive,
                   "exit status for an inconclusive verdict: exit (4), pass (0) or fail (1)")
      ->capture_default_str()
      ->check(CLI::IsMember({"exit", "pass", "fail"}));
  command->add_flag("--force", arguments->force, "compare even if the two sides did different work");
  add_outputs(*command, *arguments);
  command->footer(
      "Example: underlap gate baselines/main out/pr "
      "--max-regression 3%\n         underlap gate out/pr --max-exposed 5% --cells on\n         underlap gate "
      "out/baseline out/candidate --markdown comment.md");
  command->callback([arguments, &exit_code, command_line] { exit_code = run_gate_command(*arguments, command_line); });
}

}  // namespace underlap::bench
