// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <stdexcept>
#include <string>

#include "bench/cluster/state_of_array.hpp"
#include "bench/commands/commands.hpp"
#include "bench/measure/merge.hpp"
#include "platform/exit_code.hpp"
#include "platform/status_line.hpp"
#include "platform/terminal.hpp"
#include "platform/text/output.hpp"
#include "profiler/report/report.hpp"

namespace underlap::bench {
namespace {

int run_merge(const std::string& folder) {
  const auto state = state_of_array(folder);
  if (!state)
    throw std::invalid_argument(
        fmt::format("{} contains no job array: `underlap submit MATRIX --array -o {}` creates one", folder, folder));
  const MeasureOutcome outcome = merge_array(folder, *state, status_on_stderr());
  print_text("{}\nresults: {}/results.json\nreport:  {}/report.md\n",
             report::run_text(outcome.results, terminal_format(STDOUT_FILENO), report::Details::left_out), folder,
             folder);
  for (const auto* complaints : {&outcome.mismatches, &outcome.invalid})
    for (const std::string& complaint : *complaints) print_error("underlap: {}\n", complaint);
  if (!outcome.invalid.empty()) return kRunFailed;
  return outcome.mismatches.empty() ? kOk : kFound;
}

}  // namespace

void add_merge_command(CLI::App& app, int& exit_code) {
  auto folder = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("merge", "Join the cells of a job array into one run");
  command->add_option("DIR", *folder, "output folder of the submitted array")->required();
  command->footer(
      "The last task of `underlap submit --array` merges by itself. Merge by hand if it\nwas canceled or lost its "
      "node. A cell whose task ended early counts as failed.\n\nExample: underlap merge out");
  command->callback([folder, &exit_code] { exit_code = run_merge(*folder); });
}

}  // namespace underlap::bench
