// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/commands/commands.hpp"
#include "bench/commands/viewer_program.hpp"
#include "platform/errors.hpp"

namespace underlap::bench {
namespace {

// Becomes the viewer: its exit code is this program's.
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
        "view: the viewer is not here (underlap-viewer)\n  `bench/run --viewer` in a checkout installs Qt and builds "
        "it");
  throw MachineError(program + " cannot be started: " + std::strerror(errno));
}

}  // namespace

void add_view_command(CLI::App& app) {
  auto arguments = std::make_shared<std::vector<std::string>>();
  CLI::App* command = app.add_subcommand("view", "Open traces and runs in the viewer, or make a picture of them");
  command->prefix_command();
  command->add_option("ARGUMENT", *arguments,
                      "traces, folders and options, as underlap-viewer takes them (`underlap-viewer --help`)");
  command->footer(
      "Example: underlap view out\n"
      "         underlap view --compare before.json.gz after.json.gz\n"
      "         underlap view --render step.png --range \"step 3\" out/traces/00-off.pftrace");
  command->callback([arguments, command] {
    std::vector<std::string> all = *arguments;
    const std::vector<std::string> rest = command->remaining();
    all.insert(all.end(), rest.begin(), rest.end());
    start_viewer(all);
  });
}

}  // namespace underlap::bench
