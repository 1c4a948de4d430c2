// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <stdexcept>
#include <string>

#include "bench/commands.hpp"
#include "bench/machine.hpp"
#include "profiler/trace/errors.hpp"

namespace underlap::bench {
namespace {

std::string command_line(int argc, char** argv) {
  std::string text = "underlap";
  for (int i = 1; i < argc; ++i) text += std::string(" ") + argv[i];
  return text;
}

int run_main(int argc, char** argv) {
  CLI::App app("Measures how much of a training step's communication is hidden under compute, and how much is exposed.",
               "underlap");
  app.set_version_flag("--version", "underlap " + machine_info().version);
  app.require_subcommand(1);
  app.footer("Exit codes: 0 well, 2 bad input, 3 the run failed. `underlap COMMAND --help` shows an example of each.");
  int exit_code = kWell;
  add_plan_command(app, exit_code);
  add_run_command(app, exit_code, command_line(argc, argv));
  add_analyze_command(app, exit_code);
  add_list_command(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kWell : kBadInput;
  }
  return exit_code;
}

}  // namespace
}  // namespace underlap::bench

int main(int argc, char** argv) {
  using namespace underlap;
  try {
    return bench::run_main(argc, argv);
  } catch (const std::invalid_argument& error) {
    fmt::print(stderr, "underlap: {}\n", error.what());
    return bench::kBadInput;
  } catch (const std::exception& error) {
    fmt::print(stderr, "underlap: {}\n", error.what());
    return bench::kRunFailed;
  }
}
