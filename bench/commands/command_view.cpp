// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>

#include "bench/commands/commands.hpp"
#include "bench/commands/viewer_program.hpp"

namespace underlap::bench {

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
