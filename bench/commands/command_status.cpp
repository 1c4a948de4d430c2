// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <CLI/CLI.hpp>
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
  CLI::App* command = app.add_subcommand("status", "Show the progress of a running or queued run");
  command->add_option("DIR", arguments->folder, "run folder")->required();
  command->add_flag("--json", arguments->json, "print JSON (underlap.state/1)");
  command->footer(
      "It reads the folder, also on a shared file system, and asks Slurm about\nsubmitted runs. Stages: waiting, "
      "running, silent, ended, finished.\n\nExample: underlap status out");
  command->callback([arguments, &exit_code] {
    exit_code = kOk;
    if (const auto array = state_of_array(arguments->folder)) {
      if (arguments->json)
        print_data(array_json(*array));
      else
        print_text(array_text(*array, arguments->folder, terminal_format(STDOUT_FILENO)));
      return;
    }
    const StateOfRun state = state_of_run(arguments->folder);
    if (arguments->json)
      print_data(state_json(state));
    else
      print_text(state_text(state, arguments->folder, unix_now(), terminal_format(STDOUT_FILENO)));
  });
}

}  // namespace underlap::bench
