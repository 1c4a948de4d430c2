// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
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
#include "profiler/report/scaling/read_scaling.hpp"
#include "profiler/report/scaling/scaling.hpp"
#include "profiler/report/scaling/scaling_report.hpp"

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
    throw std::invalid_argument("--csv and --json are different outputs; ask for one of them");
  if ((arguments.csv || arguments.json) && arguments.details == report::Details::included)
    throw std::invalid_argument("--details is for the tables of a terminal; --csv and --json hold all there is");
  const report::ScalingReport report = read(arguments);
  if (arguments.json)
    print_data(report::scaling_json(report));
  else if (arguments.csv)
    print_data(report::scaling_csv(report));
  else
    print_text(report::scaling_text(report, terminal_format(STDOUT_FILENO), arguments.details));
  return kWell;
}

}  // namespace

void add_scaling_command(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<ScalingArguments>();
  CLI::App* command = app.add_subcommand("scaling", "Say what became of a step over more ranks, and why");
  command
      ->add_option("RUN", arguments->runs, "folders of one matrix's runs at several sizes, measured, modelled or both")
      ->required()
      ->check(not_empty());
  command->add_flag_callback(
      "--details", [arguments] { arguments->details = report::Details::included; },
      "also communication by mode, how ranks lie apart, and what differs beside the size");
  command->add_flag("--csv", arguments->csv, "print one table instead: a row a cell and size");
  command->add_flag("--json", arguments->json, "print JSON instead, schema underlap.scaling/1");
  command->add_flag("--force", arguments->force, "take runs that differ in more than their size, and say so");
  command->footer(
      "All runs of a series' folder (run --runs) count as one. One run may hold several\n"
      "sizes itself, on an axis of its matrix: data_parallel_size: [2, 8, 64].\n"
      "Example: underlap scaling out/2 out/8 out/64\n"
      "         underlap scaling out/measured-* out/modelled-* --csv");
  command->callback([arguments, &exit_code] { exit_code = run_scaling(*arguments); });
}

}  // namespace underlap::bench
