// SPDX-License-Identifier: Apache-2.0
#include "bench/commands/help/usage_errors.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <vector>

#include "bench/commands/help/command_tree.hpp"
#include "platform/suggestion.hpp"

namespace underlap::bench {
namespace {

std::string unknown_option(const Command& command, const std::string& word) {
  const std::string flag = word.substr(0, word.find('='));
  std::vector<std::string> names;
  for (const CommandOption& option : command.options)
    for (const std::string& name : option.names)
      if (name.starts_with("--")) names.push_back(name);
  return fmt::format("{} has no option {}{}", command.path, flag, did_you_mean(flag, names));
}

std::string unexpected(const Command& command, const std::string& word) {
  if (word.starts_with("-")) return unknown_option(command, word);
  if (!command.commands.empty()) return unknown_command(command, word);
  return fmt::format("{} does not accept \"{}\"", command.path, word);
}

// CLI11 says "CONFIG is required", and not what that is.
std::string about_missing(const Command& command, const std::string& what) {
  for (const CommandOption& positional : command.positionals)
    if (what.starts_with(positional.names.front() + " ")) return ": " + positional.about;
  return "";
}

}  // namespace

std::string unknown_command(const Command& command, const std::string& word) {
  std::vector<std::string> names;
  for (const Command& child : command.commands) names.push_back(child.name());
  const std::string suggestion = did_you_mean(word, names);
  return fmt::format("{} has no command \"{}\"{}", command.path, word,
                     suggestion.empty() ? fmt::format("; use one of {}", fmt::join(names, ", ")) : suggestion);
}

const CLI::App& chosen_command(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : chosen_command(*chosen.front());
}

bool lacks_command(const CLI::App& command) {
  return command.get_require_subcommand_min() > 0 && command.remaining().empty();
}

std::string usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& chosen = chosen_command(app);
  const Command command = command_tree(chosen);
  const auto words = app.remaining(true);
  // A word that nobody expects is why another that is needed is missing.
  const bool is_missing = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::RequiredError);
  const bool is_unexpected = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError);
  std::string what = error.what();
  if ((is_missing || is_unexpected) && !words.empty())
    what = unexpected(command, words.front());
  else if (is_missing)
    what += about_missing(command, what);
  return fmt::format("{}\n  see {} --help", what, command.path);
}

}  // namespace underlap::bench
