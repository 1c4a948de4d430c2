// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/commands/commands.hpp"
#include "bench/commands/config_input.hpp"
#include "bench/measure/refusals.hpp"
#include "impl/plan/plan_summary.hpp"
#include "impl/plan/plan_text.hpp"
#include "platform/errors.hpp"
#include "platform/exit_code.hpp"
#include "platform/flag_values.hpp"
#include "platform/suggestion.hpp"
#include "platform/terminal.hpp"

namespace underlap::bench {
namespace {

struct PlanArguments {
  std::string config;
  std::string cell;
  bool all = false;
  bool json = false;
  bool strict = false;
};

/// Requests that a gate switched off, on stderr. False where there is none.
bool print_gates(const plan::Matrix& matrix, const std::string& file) {
  std::set<std::string> lines;
  for (const plan::Cell& cell : matrix.cells)
    for (const plan::Knob& knob : cell.plan.knobs)
      if (knob.source == "gate")
        lines.insert(fmt::format("{}: {} was requested as {} and is {}: {}", knob.where.empty() ? file : knob.where,
                                 knob.name, to_json_text(knob.requested), to_json_text(knob.effective), knob.reason));
  for (const std::string& line : lines) fmt::print(stderr, "{}\n", line);
  return !lines.empty();
}

// A plan is of use on a machine that cannot run it.
void tell_what_run_refuses(plan::Matrix& matrix) {
  try {
    find_refusals(matrix);
  } catch (const MachineError& error) {
    for (plan::Cell& cell : matrix.cells) cell.plan.not_run.push_back({matrix.source.where, error.what()});
  }
}

void keep_cell(plan::Matrix& matrix, const std::string& name) {
  std::vector<std::string> names;
  for (const plan::Cell& cell : matrix.cells) names.push_back(cell.name);
  const auto found = std::ranges::find(names, name);
  const std::string meant = did_you_mean(name, names);
  if (found == names.end())
    throw std::invalid_argument(
        fmt::format("--cell: {} has no cell {}{}", matrix.source.where, yaml::in_quotes(name),
                    meant.empty() ? fmt::format("; underlap plan {} lists them", matrix.source.where) : meant));
  matrix.cells = {matrix.cells[static_cast<std::size_t>(found - names.begin())]};
}

void print_text(const plan::Matrix& matrix, bool all) {
  const TableFormat format = terminal_format(STDOUT_FILENO);
  if (!all) {
    const bool is_one = matrix.cells.size() == 1;
    fmt::print("{}", is_one ? plan::cell_summary(matrix.cells.front(), format) : plan::overview(matrix, format));
    return;
  }
  for (const plan::Cell& cell : matrix.cells) {
    if (matrix.cells.size() > 1) fmt::print("{}cell {}\n\n", &cell == &matrix.cells.front() ? "" : "\n", cell.name);
    fmt::print("{}", plan::to_text(cell.plan, format));
  }
}

int run_plan(const PlanArguments& arguments) {
  plan::Matrix matrix = read_matrix(arguments.config);
  tell_what_run_refuses(matrix);
  if (matrix.has_errors()) {
    // Of one configuration the plan as far as it goes, which holds its errors.
    if (arguments.json && matrix.cells.size() == 1)
      fmt::print("{}\n", plans_json(matrix));
    else
      refuse(matrix, arguments.json);
    return kBadInput;
  }
  if (!arguments.cell.empty()) keep_cell(matrix, arguments.cell);
  if (arguments.json)
    fmt::print("{}\n", plans_json(matrix));
  else
    print_text(matrix, arguments.all);
  return arguments.strict && print_gates(matrix, arguments.config) ? kBadInput : kWell;
}

}  // namespace

void add_plan_command(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<PlanArguments>();
  CLI::App* command = app.add_subcommand("plan", "Show what is in effect for a configuration, and why");
  add_config(*command, arguments->config);
  CLI::Option* all =
      command->add_flag("--all", arguments->all, "show every knob of every cell, the launch environment and buckets");
  command->add_option("--cell", arguments->cell, "show this cell alone")->check(not_empty());
  command
      ->add_flag("--json", arguments->json,
                 "print JSON, schema underlap.plan/1; what is wrong too, as underlap.errors/1")
      ->excludes(all);
  command->add_flag("--strict", arguments->strict, "exit with 2 where a gate switched a request off");
  command->footer(
      "Example: underlap plan bench/matrices/quick.yaml\n"
      "         underlap plan bench/matrices/modes.yaml --cell \"tp on\"");
  command->callback([arguments, &exit_code] {
    exit_code = with_errors_as(arguments->json, arguments->config, [&] { return run_plan(*arguments); });
  });
}

}  // namespace underlap::bench
