// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "bench/commands/commands.hpp"
#include "bench/commands/config_input.hpp"
#include "bench/measure/refusals.hpp"
#include "impl/device/sim/machine.hpp"
#include "impl/plan/findings.hpp"
#include "impl/plan/memory/advice.hpp"
#include "impl/plan/memory/memory.hpp"
#include "impl/plan/plan_diff.hpp"
#include "impl/plan/plan_json.hpp"
#include "impl/plan/plan_summary.hpp"
#include "impl/plan/plan_text.hpp"
#include "impl/plan/usual_hardware.hpp"
#include "platform/errors.hpp"
#include "platform/exit_code.hpp"
#include "platform/flag_values.hpp"
#include "platform/json.hpp"
#include "platform/memory_room.hpp"
#include "platform/suggestion.hpp"
#include "platform/table.hpp"
#include "platform/terminal.hpp"
#include "platform/text/output.hpp"

namespace underlap::bench {
namespace {

struct PlanArguments {
  std::string config;
  std::string before;
  std::string cell;
  bool all = false;
  bool json = false;
  bool github = false;
  bool sarif = false;
  bool strict = false;
  std::string vocab_size;
  std::string words;  ///< Megatron-LM's arguments, in place of a configuration

  /// Overrides for values that a dump leaves to the tokenizer.
  std::vector<plan::Override> overrides() const {
    if (vocab_size.empty()) return {};
    return {{"model.vocab_size", vocab_size}};
  }
};

/// Prints requests that a gate switched off, on stderr. Returns false if there are none.
bool print_gates(const plan::Matrix& matrix, const std::string& file) {
  std::set<std::string> lines;
  for (const plan::Cell& cell : matrix.cells)
    for (const plan::Knob& knob : cell.plan.knobs)
      if (knob.source == "gate")
        lines.insert(fmt::format("{}: {} was requested as {} but is {}: {}", knob.where.empty() ? file : knob.where,
                                 knob.name, to_json_text(knob.requested), to_json_text(knob.effective), knob.reason));
  for (const std::string& line : lines) print_error("{}\n", line);
  return !lines.empty();
}

// Adds what `run` would refuse. A MachineError is not fatal: a plan is useful on a machine that cannot run it.
void add_refusals_of_run(plan::Matrix& matrix) {
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
  const std::string suggestion = did_you_mean(name, names);
  if (found == names.end())
    throw std::invalid_argument(fmt::format(
        "--cell: {} has no cell {}{}", matrix.source.where, yaml::in_quotes(name),
        suggestion.empty() ? fmt::format("; underlap plan {} lists them", matrix.source.where) : suggestion));
  matrix.cells = {matrix.cells[static_cast<std::size_t>(found - names.begin())]};
  matrix.errors = matrix.cells.front().plan.errors;
}

// Whether any cell is valid.
bool has_sound_cells(const plan::Matrix& matrix) {
  return std::ranges::any_of(matrix.cells, [](const plan::Cell& cell) { return cell.plan.errors.empty(); });
}

// Lists cells that do not fit the memory of the described GPU, whichever backend runs the plan; cells with equal needs
// share a line. If the configuration names no GPU, a default is assumed, which may itself be too small.
std::string memory_text(const plan::Matrix& matrix, int width, bool of_said_gpus) {
  std::map<std::pair<bool, std::string>, std::vector<std::string>, std::greater<>> cells;  // too large; the message
  for (const plan::Cell& cell : matrix.cells) {
    plan::Config config = cell.plan.config;
    const auto& knobs = cell.plan.knobs;
    const bool is_said = std::ranges::find(knobs, "environment.gpu_arch", &plan::Knob::name) != knobs.end() ||
                         !config.run.hardware.empty();
    if (const auto* usual = plan::usual_hardware_of(config.environment.gpu_arch); usual && config.run.hardware.empty())
      config.run.hardware = usual->name;
    if (!cell.plan.errors.empty() || config.run.hardware.empty() || is_said != of_said_gpus) continue;
    const std::int64_t needed = cell.plan.peak_memory.total(), there = sim::gpu_memory_bytes(config),
                       plannable = sim::plannable_memory_bytes(config);
    if (needed <= plannable) continue;
    const std::string words = fmt::format(
        "a rank is predicted to need {}, {} a GPU of {} has {}{} ({})", in_bytes(needed),
        needed > there ? "but" : "and", config.run.hardware, in_bytes(there),
        needed > there ? "" : ", and fragmentation may take 6 % of that", plan::advice_on_memory(config, plannable));
    cells[{needed > there, words}].push_back(cell.name);
  }
  std::string text;
  for (const auto& [message, names] : cells) {
    const auto& [is_too_large, words] = message;
    const std::string of = matrix.cells.size() == 1 ? "" : fmt::format("{}: ", fmt::join(names, ", "));
    const std::string verdict = of_said_gpus ? (is_too_large ? "DOES NOT FIT" : "MAY NOT FIT")
                                             : fmt::format("{} not fit the assumed GPU", is_too_large ? "does" : "may");
    text += wrap(fmt::format("{}: {}{}", verdict, of, words), width, "  ");
  }
  return text;
}

// Each plan as far as it could be made, with its errors; only the errors if none of several cells can be run.
std::string matrix_json(const plan::Matrix& matrix) {
  const bool has_plans = !matrix.has_errors() || matrix.cells.size() == 1 || has_sound_cells(matrix);
  return has_plans ? plans_json(matrix) : plan::errors_json(matrix.errors);
}

void print_plan(const plan::Matrix& matrix, bool all) {
  const TableFormat format = terminal_format(STDOUT_FILENO);
  print_text(memory_text(matrix, format.width, true));
  if (!all) {
    const bool is_one = matrix.cells.size() == 1;
    print_text("{}{}", is_one ? plan::cell_summary(matrix.cells.front(), format) : plan::overview(matrix, format),
               memory_text(matrix, format.width, false));
    return;
  }
  for (const plan::Cell& cell : matrix.cells) {
    if (!cell.plan.errors.empty()) continue;
    if (matrix.cells.size() > 1) print_text("{}cell {}\n\n", &cell == &matrix.cells.front() ? "" : "\n", cell.name);
    print_text(plan::to_text(cell.plan, format));
  }
}

/// Reads a configuration, or the arguments given in place of one.
plan::Matrix read_plan(const std::string& file, const PlanArguments& arguments) {
  if (arguments.words.empty()) return read_matrix(file, arguments.overrides());
  return plan::parse(arguments.words, "the arguments", arguments.overrides());
}

/// The matrix of a file with everything that `run` would refuse. If the file cannot be read, that is an error of the
/// matrix.
plan::Matrix read_whole(const std::string& file, const PlanArguments& arguments) {
  plan::Matrix matrix;
  try {
    matrix = read_plan(file, arguments);
  } catch (const std::invalid_argument& error) {
    std::string message = error.what();
    if (message.starts_with(file + ": ")) message.erase(0, file.size() + 2);
    matrix.errors = {{file, message}};
    return matrix;
  }
  add_refusals_of_run(matrix);
  return matrix;
}

void print_findings(const std::vector<plan::Finding>& findings, const PlanArguments& arguments) {
  print_data(arguments.github ? plan::to_github(findings) : plan::to_sarif(findings) + "\n");
}

bool has_kind(const std::vector<plan::Finding>& findings, std::string_view kind) {
  return std::ranges::find(findings, kind, &plan::Finding::kind) != findings.end();
}

/// Errors are bad input; with --strict, gates are too.
int exit_code_of(const std::vector<plan::Finding>& findings, const PlanArguments& arguments) {
  const bool is_bad = has_kind(findings, "error") || (arguments.strict && has_kind(findings, "not-as-requested"));
  return is_bad ? kBadInput : kOk;
}

/// The configurations in a folder and its subfolders. Throws std::invalid_argument naming the folder if there are none,
/// or more entries than a folder of configurations would have.
std::vector<std::string> configurations_in(const std::string& folder) {
  constexpr int kMost = 10'000;
  std::vector<std::string> files;
  std::error_code error;
  int num_seen = 0;
  for (std::filesystem::recursive_directory_iterator
           at(folder, std::filesystem::directory_options::skip_permission_denied, error),
       end;
       !error && at != end; at.increment(error)) {
    std::error_code of_entry;
    const std::filesystem::path& path = at->path();
    if (++num_seen > kMost)
      throw std::invalid_argument(fmt::format(
          "{}: contains more than {} files; give a folder of configurations, or one of them", folder, kMost));
    if ((path.extension() == ".yaml" || path.extension() == ".yml") && at->is_regular_file(of_entry))
      files.push_back(path.string());
  }
  if (files.empty())
    throw std::invalid_argument(folder + ": a folder without .yaml or .yml files; give a configuration");
  std::ranges::sort(files);
  return files;
}

/// "config.yaml: 2 errors, 1 exposed".
std::string verdict(const std::string& file, const std::vector<plan::Finding>& findings) {
  std::vector<std::string> words;
  for (const std::string_view kind : {"error", "not-as-requested", "exposed", "contradiction"})
    if (const auto count = std::ranges::count(findings, kind, &plan::Finding::kind); count > 0)
      words.push_back(fmt::format("{} {}", count, kind));
  return fmt::format("{}: {}", file, words.empty() ? "ok" : fmt::format("{}", fmt::join(words, ", ")));
}

int plan_folder(const PlanArguments& arguments) {
  std::vector<plan::Finding> all;
  nlohmann::ordered_json json{{"schema", "underlap.plans/1"}, {"files", nlohmann::ordered_json::array()}};
  for (const std::string& file : configurations_in(arguments.config)) {
    const plan::Matrix matrix = read_whole(file, arguments);
    const std::vector<plan::Finding> own = plan::findings(matrix);
    all.insert(all.end(), own.begin(), own.end());
    if (arguments.json) json["files"].push_back({{"file", file}, {"plans", parse_json(matrix_json(matrix))}});
    if (arguments.json || arguments.github || arguments.sarif) continue;
    print_text("{}\n", verdict(file, own));
    for (const plan::Finding& finding : own)
      if (finding.level != "note")
        print_text(wrap(fmt::format("  {}: {}", finding.message.where, finding.message.message),
                        terminal_format(STDOUT_FILENO).width, "    "));
  }
  if (arguments.json) print_data(json_text(json, 2) + "\n");
  if (arguments.github || arguments.sarif) print_findings(all, arguments);
  return exit_code_of(all, arguments);
}

const plan::Plan& only_plan(plan::Matrix& matrix, const PlanArguments& arguments) {
  if (!arguments.cell.empty()) keep_cell(matrix, arguments.cell);
  if (matrix.cells.size() > 1)
    throw std::invalid_argument(fmt::format("{}: a matrix of {} cells; --cell NAME selects the one to compare",
                                            matrix.source.where, matrix.cells.size()));
  return matrix.cells.front().plan;
}

int diff_plans(const PlanArguments& arguments) {
  plan::Matrix before = read_matrix(arguments.before, arguments.overrides());
  plan::Matrix after = read_plan(arguments.config, arguments);
  for (const plan::Matrix* matrix : {&before, &after})
    if (matrix->has_errors() && refuse(*matrix, arguments.json)) return kBadInput;
  const auto differences = plan::differences(only_plan(before, arguments), only_plan(after, arguments));
  if (!arguments.json) {
    print_text(plan::differences_text(differences, terminal_format(STDOUT_FILENO)));
    return differences.empty() ? kOk : kFound;
  }
  print_data(plan::differences_json(differences) + "\n");
  return differences.empty() ? kOk : kFound;
}

int plan_file(const PlanArguments& arguments) {
  if (arguments.github || arguments.sarif) {
    plan::Matrix matrix = read_whole(arguments.config, arguments);
    if (!arguments.cell.empty() && !matrix.has_errors()) keep_cell(matrix, arguments.cell);
    const std::vector<plan::Finding> all = plan::findings(matrix);
    print_findings(all, arguments);
    return exit_code_of(all, arguments);
  }
  plan::Matrix matrix = read_plan(arguments.config, arguments);
  if (!arguments.cell.empty() && has_sound_cells(matrix)) keep_cell(matrix, arguments.cell);
  add_refusals_of_run(matrix);
  if (arguments.json)
    print_data(matrix_json(matrix) + "\n");
  else if (matrix.has_errors())
    print_errors(matrix);
  if (!arguments.json && (!matrix.has_errors() || has_sound_cells(matrix))) print_plan(matrix, arguments.all);
  if (matrix.has_errors()) return kBadInput;
  return arguments.strict && print_gates(matrix, arguments.config) ? kBadInput : kOk;
}

/// Arguments of Megatron-LM follow two hyphens; the first one arrives in place of the configuration.
void take_arguments(PlanArguments& arguments, std::vector<std::string> more) {
  if (!arguments.config.starts_with("--")) {
    if (!more.empty()) throw CLI::ExtrasError("plan", more);
    return;
  }
  std::erase(more, "--");
  arguments.words = fmt::format("{} {}", arguments.config, fmt::join(more, " "));
}

int run_plan(const PlanArguments& arguments) {
  if (!arguments.before.empty()) return diff_plans(arguments);
  std::error_code ignored;
  return std::filesystem::is_directory(arguments.config, ignored) ? plan_folder(arguments) : plan_file(arguments);
}

}  // namespace

void add_plan_command(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<PlanArguments>();
  CLI::App* command = app.add_subcommand("plan", "Show the effective settings of a configuration and why");
  add_config(*command, arguments->config);
  CLI::Option* all =
      command->add_flag("--all", arguments->all, "show every knob of every cell, the environment and the buckets");
  command->add_option("--cell", arguments->cell, "show only this cell")->check(not_empty());
  command
      ->add_flag("--json", arguments->json,
                 "print JSON: underlap.plan/1, underlap.plans/1 for several cells, or underlap.errors/1 if no cell can "
                 "run. A cell's errors are in its plan")
      ->excludes(all);
  CLI::Option* github = command->add_flag("--github", arguments->github, "print findings as GitHub workflow commands");
  command->add_flag("--sarif", arguments->sarif, "print findings as SARIF 2.1.0, for code scanning")->excludes(github);
  command
      ->add_option("--diff", arguments->before,
                   "show settings whose effective value differs from this configuration; exit 1 if any")
      ->check(not_empty());
  command->add_option("--vocab-size", arguments->vocab_size, "vocabulary size, if a dump leaves it to the tokenizer");
  command->add_flag("--strict", arguments->strict, "exit 2 if a rule switched off something that was requested");
  command->footer(
      "Example: underlap plan quick\n         underlap plan modes --cell \"tp on\"\n         underlap plan configs/ "
      "--strict --github    # every file of a folder\n         underlap plan --diff before.yaml after.yaml\n         "
      "underlap plan -- --num-layers 32 --hidden-size 4096    # Megatron-LM");
  command->allow_extras();
  command->callback([arguments, command, &exit_code] {
    take_arguments(*arguments, command->remaining());
    exit_code = with_errors_as(arguments->json, arguments->config, [&] { return run_plan(*arguments); });
  });
}

}  // namespace underlap::bench
