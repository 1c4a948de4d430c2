// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/commands/commands.hpp"
#include "bench/commands/viewer_program.hpp"
#include "platform/errors.hpp"

namespace underlap::bench {
namespace {

// Replaces this process by the viewer, so that the viewer's exit code is this program's.
[[noreturn]] void start_viewer(const std::vector<std::string>& arguments) {
  std::string program = viewer_program();
  std::vector<std::string> all{program};
  all.insert(all.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& argument : all) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  ::execvp(program.c_str(), pointers.data());
  if (errno == ENOENT)
    throw std::invalid_argument(
        "view: the viewer was not found (underlap-viewer)\n  in a checkout, `bench/run --viewer` installs Qt and "
        "builds it");
  throw MachineError(program + " cannot be started: " + std::strerror(errno));
}

}  // namespace

// All words after the command go to the viewer, in their order: an option of ours would take words out of them.
void add_view_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "view", "Open traces and runs in the viewer, or render a picture (options: underlap-viewer --help)");
  command->prefix_command();
  command->footer(
      "`underlap-viewer --help` lists the options; `?` in its window lists the keys.\n\nExample: underlap view out\n   "
      "      underlap view --compare before.json.gz after.json.gz\n         underlap view --render step.png --range "
      "\"step 3\" trace.pftrace");
  command->callback([command] { start_viewer(command->remaining()); });
}

}  // namespace underlap::bench
