// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <ranges>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/commands/commands.hpp"
#include "bench/commands/config_input.hpp"
#include "bench/measure/forecast.hpp"
#include "bench/measure/progress.hpp"
#include "bench/measure/refusals.hpp"
#include "bench/verify/check_report.hpp"
#include "impl/step/record_programs.hpp"
#include "platform/exit_code.hpp"
#include "platform/problems.hpp"
#include "platform/status_line.hpp"
#include "platform/terminal.hpp"
#include "platform/text/digits.hpp"
#include "platform/text/output.hpp"

namespace underlap::bench {
namespace {

struct CheckArguments {
  std::string config;
  bool json = false;
  bool dry_run = false;
  std::int32_t steps = 2;  // a second step shows what the first leaves behind
  bool no_numerics = false;
  std::int32_t numerics_steps = 5;
  std::optional<std::string> connections;
  check::CheckOptions options;
};

// CLI11 leaves out what is empty between two commas.
std::vector<std::uint32_t> read_connections(const std::string& text) {
  constexpr std::int32_t kMost = 1'000'000;
  std::vector<std::uint32_t> numbers;
  for (const auto part : std::views::split(text, ',')) {
    const auto number = parse_number<std::int32_t>({part.data(), part.size()}).value_or(-1);
    if (number < 0 || number > kMost)
      throw std::invalid_argument(
          fmt::format("--connections: {} must be whole numbers from 0 to {} separated by commas, such as 0,32,8,1",
                      yaml::in_quotes(text), kMost));
    numbers.push_back(static_cast<std::uint32_t>(number));
  }
  if (numbers.empty()) throw std::invalid_argument("--connections is empty; write numbers such as 0,32,8,1");
  return numbers;
}

CheckedMatrix checked_matrix(const plan::Matrix& matrix, const CheckArguments& arguments,
                             const check::CheckOptions& options) {
  StatusLine status(status_on_stderr());
  CheckedMatrix checked;
  std::vector<bool> is_sound;
  for (const plan::Cell& cell : matrix.cells) require_memory_of_check(cell, arguments.steps);
  for (const plan::Cell& cell : matrix.cells) {
    status.say("checking " + cell_text(cell.name, checked.cells.size(), matrix.cells.size()));
    checked.cells.push_back({cell.name, arguments.steps,
                             check::check_programs(record_programs(cell.plan.config, arguments.steps), options)});
    is_sound.push_back(checked.cells.back().report.findings.empty());
  }
  status.say(fmt::format("computing losses of {} cells", matrix.cells.size()));
  if (!arguments.no_numerics) checked.numerics = check_numerics(matrix.cells, is_sound, arguments.numerics_steps);
  return checked;
}

int run_check(const CheckArguments& arguments) {
  check::CheckOptions options = arguments.options;
  if (arguments.connections) options.connections = read_connections(*arguments.connections);
  // Whatever backend would run it: the schedule is the same.
  plan::Matrix matrix = read_matrix(arguments.config, {{"run.backend", "host"}});
  std::vector<report::RefusedCell> refused = take_out_refused(matrix);
  if (!arguments.no_numerics) find_unreadable_data(matrix);
  for (report::RefusedCell& cell : take_out_refused(matrix)) refused.push_back(std::move(cell));
  if (refuse(matrix, arguments.json)) return kBadInput;
  if (arguments.dry_run) {
    warn_refused(refused);
    print_text(check_forecast(matrix, arguments.steps, arguments.no_numerics ? 0 : arguments.numerics_steps,
                              terminal_width(STDOUT_FILENO)));
    return refused.empty() ? kOk : kBadInput;
  }
  CheckedMatrix checked = checked_matrix(matrix, arguments, options);
  checked.refused = refused;
  if (arguments.json)
    print_data(check_json(checked));
  else
    print_text(check_text(checked));
  if (!refused.empty())
    print_error("underlap: {} of {} cells are not checked: their configurations cannot be run\n", refused.size(),
                refused.size() + matrix.cells.size());
  if (!is_valid(checked)) return kFound;
  return refused.empty() ? kOk : kBadInput;
}

}  // namespace

void add_check_command(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<CheckArguments>();
  CLI::App* command = app.add_subcommand(
      "check", "Prove a schedule free of races and deadlocks, and compare its losses, without a GPU");
  add_config(*command, arguments->config);
  CLI::Option* json =
      command->add_flag("--json", arguments->json, "print JSON: underlap.check/1, or underlap.errors/1 for errors");
  command->add_flag("--dry-run", arguments->dry_run, "show what would be checked, and check nothing")->excludes(json);
  command->add_option("--steps", arguments->steps, "steps to check on each rank (default: 2)")
      ->check(CLI::Range(1, 1000));
  CLI::Option* no_numerics = command->add_flag("--no-numerics", arguments->no_numerics, "do not compute losses");
  command->add_option("--numerics-steps", arguments->numerics_steps, "steps whose losses are compared (default: 5)")
      ->check(CLI::Range(2, 1000))
      ->excludes(no_numerics);
  command->add_option("--connections", arguments->connections,
                      "hardware queue counts to search for deadlocks with; 0: one per stream (default: 0,32,8,1)");
  command
      ->add_option("--launch-queue-depth", arguments->options.launch_queue_depth,
                   "commands that a hardware queue holds before the host blocks (default: 1024)")
      ->check(CLI::Range(1, 1'000'000'000));
  command->footer("Example: underlap check bench/matrices/quick.yaml --connections 1,8");
  command->callback([arguments, &exit_code] {
    exit_code = with_errors_as(arguments->json, arguments->config, [&] { return run_check(*arguments); });
  });
}

}  // namespace underlap::bench
