// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <vector>

#include "bench/commands/commands.hpp"
#include "bench/commands/config_input.hpp"
#include "bench/verify/check_report.hpp"
#include "impl/step/record_programs.hpp"
#include "platform/exit_code.hpp"

namespace underlap::bench {
namespace {

struct CheckArguments {
  std::string config;
  bool json = false;
  std::int32_t steps = 2;  // a second step shows what the first leaves behind
  bool no_numerics = false;
  std::int32_t numerics_steps = 5;
  check::CheckOptions options;
};

int run_check(const CheckArguments& arguments) {
  // Whatever backend would run it: the schedule is the same.
  const plan::Matrix matrix = read_matrix(arguments.config, {{"run.backend", "host"}});
  print_errors(matrix);
  if (matrix.has_errors() || refuse_not_run(matrix)) return kBadInput;
  CheckedMatrix checked;
  std::vector<bool> is_sound;
  for (const plan::Cell& cell : matrix.cells) {
    checked.cells.push_back(
        {cell.name, arguments.steps,
         check::check_programs(record_programs(cell.plan.config, arguments.steps), arguments.options)});
    is_sound.push_back(checked.cells.back().report.findings.empty());
  }
  if (!arguments.no_numerics) checked.numerics = check_numerics(matrix.cells, is_sound, arguments.numerics_steps);
  fmt::print("{}", arguments.json ? check_json(checked) : check_text(checked));
  return is_well(checked) ? kWell : kFound;
}

}  // namespace

void add_check_command(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<CheckArguments>();
  CLI::App* command = app.add_subcommand(
      "check", "Prove a schedule free of races and deadlocks, and label its numerics, without a GPU");
  command->add_option("CONFIG", arguments->config, "configuration, YAML")->required();
  command->add_flag("--json", arguments->json, "print JSON, schema underlap.check/1");
  command->add_option("--steps", arguments->steps, "steps of each rank (default: 2)")->check(CLI::Range(1, 1000));
  command->add_flag("--no-numerics", arguments->no_numerics, "compute no losses");
  command->add_option("--numerics-steps", arguments->numerics_steps, "steps whose losses are compared (default: 5)")
      ->check(CLI::Range(2, 1000));
  command
      ->add_option("--connections", arguments->options.connections,
                   "numbers of hardware queues to look for deadlocks with; 0: one a stream (default: 0,32,8,1)")
      ->delimiter(',')
      ->allow_extra_args(false)  // what follows is the configuration
      ->check(CLI::Range(0, 1'000'000));
  command
      ->add_option("--launch-queue-depth", arguments->options.launch_queue_depth,
                   "commands that a hardware queue holds before the host waits (default: 1024)")
      ->check(CLI::Range(1, 1'000'000'000));
  command->footer("Example: underlap check bench/matrices/quick.yaml --connections 1,8");
  command->callback([arguments, &exit_code] { exit_code = run_check(*arguments); });
}

}  // namespace underlap::bench
