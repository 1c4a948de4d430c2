// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/commands/commands.hpp"
#include "bench/commands/status_watch.hpp"
#include "platform/exit_code.hpp"
#include "platform/flag_values.hpp"
#include "platform/terminal.hpp"
#include "platform/text/output.hpp"
#include "profiler/report/scaling/scaling.hpp"

namespace underlap::bench {
namespace {

struct ScalingArguments {
  std::vector<std::string> runs;
  bool csv = false;
  bool json = false;
  bool force = false;
  report::Details details = report::Details::left_out;
};

report::ScalingReport read(const ScalingArguments& arguments) {
  StatusWatch watch;
  return report::read_scaling(arguments.runs, arguments.force,
                              [&](const std::string& run) { watch.say("reading " + run); });
}

int run_scaling(const ScalingArguments& arguments) {
  if (arguments.csv && arguments.json)
    throw std::invalid_argument("--csv and --json cannot be combined; use one of them");
  if ((arguments.csv || arguments.json) && arguments.details == report::Details::included)
    throw std::invalid_argument("--details applies to terminal output only; --csv and --json contain everything");
  const report::ScalingReport report = read(arguments);
  if (arguments.json)
    print_data(report::scaling_json(report));
  else if (arguments.csv)
    print_data(report::scaling_csv(report));
  else
    print_text(report::scaling_text(report, terminal_format(STDOUT_FILENO), arguments.details));
  return kOk;
}

}  // namespace

void add_scaling_command(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<ScalingArguments>();
  CLI::App* command = app.add_subcommand("scaling", "Compare runs at different scales and explain the difference");
  command->add_option("RUN", arguments->runs, "run folders of one matrix at several sizes, measured, simulated or both")
      ->required()
      ->check(not_empty());
  command->add_flag_callback(
      "--details", [arguments] { arguments->details = report::Details::included; },
      "also communication by mode, the spread of ranks, and other differences between the runs");
  command->add_flag("--csv", arguments->csv, "print CSV: one row for each cell and size");
  command->add_flag("--json", arguments->json, "print JSON (underlap.scaling/1)");
  command->add_flag("--force", arguments->force, "compare even if the runs differ in more than their size");
  command->footer(
      "All runs of a `run --runs` folder count as one run. One run can hold several\nsizes on an axis of its matrix, "
      "such as data_parallel_size: [2, 8, 64].\n\nExample: underlap scaling out/2 out/8 out/64\n         underlap "
      "scaling out/measured-* out/modelled-* --csv");
  command->callback([arguments, &exit_code] { exit_code = run_scaling(*arguments); });
}

}  // namespace underlap::bench
