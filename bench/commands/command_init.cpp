// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>

#include "bench/commands/commands.hpp"
#include "bench/commands/starting_config.hpp"
#include "platform/atomic_file.hpp"
#include "platform/exit_code.hpp"
#include "platform/text/output.hpp"

namespace underlap::bench {
namespace {

struct InitArguments {
  std::string file = "underlap.yaml";
  std::string preset = "tiny";
  bool force = false;
};

// The comments speak of FILE, so that they hold for the name that it is given.
std::string naming(std::string config, const std::string& file) {
  for (std::size_t at = config.find("FILE"); at != std::string::npos; at = config.find("FILE", at + file.size()))
    config.replace(at, 4, file);
  return config;
}

int run_init(const InitArguments& arguments) {
  const std::string config = starting_config(arguments.preset);
  if (arguments.file == "-") {
    print_data(config);
    return kOk;
  }
  if (std::filesystem::exists(arguments.file) && !arguments.force)
    throw std::invalid_argument(
        fmt::format("{} already exists: choose another file, or overwrite it with --force", arguments.file));
  write_file_atomically(arguments.file, naming(config, arguments.file));
  print_text("wrote {0}\n  underlap plan {0}    shows its effective settings\n  underlap run {0}     runs it\n",
             arguments.file);
  return kOk;
}

}  // namespace

void add_init_command(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<InitArguments>();
  CLI::App* command = app.add_subcommand("init", "Write a commented configuration to start from");
  command->add_option("FILE", arguments->file, "file to write, or - for standard output (default: underlap.yaml)");
  command->add_option("--like", arguments->preset,
                      "model preset, see `underlap list presets` (default: tiny, which this machine can measure; "
                      "larger ones are simulated)");
  command->add_flag("--force", arguments->force, "overwrite an existing file");
  command->footer(
      "Example: underlap init config.yaml && underlap run config.yaml -o first\n"
      "         underlap init --like llama3-8b llama.yaml");
  command->callback([arguments, &exit_code] { exit_code = run_init(*arguments); });
}

}  // namespace underlap::bench
