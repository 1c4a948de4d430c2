// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>

#include "bench/commands/commands.hpp"
#include "bench/machine/machine.hpp"
#include "platform/errors.hpp"
#include "platform/exit_code.hpp"

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
  add_plan_command(app, exit_code);
  add_check_command(app, exit_code);
  add_run_command(app, exit_code, command_line(argc, argv));
  add_rank_command(app, exit_code);
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

// A program may be started without the standard streams. The first files it opened would take their numbers, and
// messages would be written into them.
void keep_standard_streams_open() {
  for (int fd = ::open("/dev/null", O_RDWR); fd >= 0; fd = ::open("/dev/null", O_RDWR)) {
    if (fd <= STDERR_FILENO) continue;
    ::close(fd);
    return;
  }
}

void flush_output() {
  std::cout.flush();
  if (!std::cout || std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    throw MachineError("standard output cannot be written");
}

// fmt::print throws where stderr cannot be written, and nobody is left to catch that.
void complain(const std::exception& error) { std::fprintf(stderr, "underlap: %s\n", error.what()); }

}  // namespace
}  // namespace underlap::bench

int main(int argc, char** argv) {
  using namespace underlap;
  bench::keep_standard_streams_open();
  try {
    const int exit_code = bench::run_main(argc, argv);
    bench::flush_output();
    return exit_code;
  } catch (const std::invalid_argument& error) {
    bench::complain(error);
    return kBadInput;
  } catch (const std::exception& error) {
    bench::complain(error);
    return kRunFailed;
  }
}
