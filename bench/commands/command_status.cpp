// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <string>

#include "bench/cluster/state_of_array.hpp"
#include "bench/cluster/state_of_run.hpp"
#include "bench/commands/commands.hpp"
#include "platform/exit_code.hpp"
#include "platform/terminal.hpp"
#include "platform/text/output.hpp"

namespace underlap::bench {

void add_status_command(CLI::App& app, int& exit_code) {
  struct Arguments {
    std::string folder;
    bool json = false;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("status", "Say how a run stands that goes on elsewhere, or waits in a queue");
  command->add_option("DIR", arguments->folder, "the folder of the run")->required();
  command->add_flag("--json", arguments->json, "print it as JSON, schema underlap.state/1");
  command->footer(
      "It reads the folder, which may be on another machine's file system, and asks Slurm where the run was\n"
      "submitted. Stages: waiting, running, silent, ended, finished.\n\n"
      "Example: underlap status out");
  command->callback([arguments, &exit_code] {
    exit_code = kWell;
    if (const auto array = state_of_array(arguments->folder)) {
      if (arguments->json)
        print_data(array_json(*array));
      else
        print_text(array_text(*array, arguments->folder, terminal_format(STDOUT_FILENO)));
      return;
    }
    const StateOfRun state = state_of_run(arguments->folder);
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    if (arguments->json)
      print_data(state_json(state));
    else
      print_text(state_text(state, arguments->folder, std::chrono::duration_cast<std::chrono::seconds>(now).count(),
                            terminal_format(STDOUT_FILENO)));
  });
}

}  // namespace underlap::bench
