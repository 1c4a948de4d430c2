// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <stdexcept>
#include <string>

#include "bench/commands/commands.hpp"
#include "bench/machine/machine.hpp"
#include "platform/exit_code.hpp"
#include "platform/program.hpp"

namespace underlap::bench {
namespace {

std::string command_line(int argc, char** argv) {
  std::string text = "underlap";
  for (int i = 1; i < argc; ++i) text += std::string(" ") + argv[i];
  return text;
}

// What to say about a word that stands where a command should; empty where none does.
std::string unknown_command(const CLI::App& app) {
  const auto words = app.remaining();
  const auto chosen = app.get_subcommands();
  if (!chosen.empty()) return unknown_command(*chosen.front());
  const auto known = app.get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); });
  if (words.empty() || known.empty()) return {};
  std::string names;
  for (const CLI::App* command : known) names += (names.empty() ? "" : ", ") + command->get_name();
  return fmt::format("{} has no command \"{}\"; use one of {}", app.get_name(), words.front(), names);
}

int run_main(int argc, char** argv) {
  CLI::App app("Measures how much of a training step's communication is hidden under compute, and how much is exposed.",
               "underlap");
  app.set_version_flag("--version", "underlap " + machine_info().version);
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 well, 1 something was found, 2 bad input, 3 the run failed. `underlap COMMAND --help` shows an "
      "example of each.");
  int exit_code = kWell;
  add_init_command(app, exit_code);
  add_plan_command(app, exit_code);
  add_check_command(app, exit_code);
  add_run_command(app, exit_code, command_line(argc, argv));
  add_rank_command(app, exit_code);
  add_show_command(app, exit_code);
  add_analyze_command(app, exit_code);
  add_list_command(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (const std::string unknown = unknown_command(app); error.get_exit_code() != 0 && !unknown.empty())
      throw std::invalid_argument(unknown);
    return app.exit(error) == 0 ? kWell : kBadInput;
  }
  return exit_code;
}

}  // namespace
}  // namespace underlap::bench

int main(int argc, char** argv) {
  return underlap::run_program("underlap", [&] { return underlap::bench::run_main(argc, argv); });
}
