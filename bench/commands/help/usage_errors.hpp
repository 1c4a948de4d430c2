// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace underlap::bench {

struct Command;

/// An error: `command` has no subcommand `word`. Suggests a similar one, or lists them.
std::string unknown_command(const Command& command, const std::string& word);

/// Describes why `app` could not parse its words: the command, the word, a suggestion, and where to read more.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error);

/// The command that the words belong to: the innermost one named.
const CLI::App& chosen_command(const CLI::App& app);

/// Whether `command` needs a subcommand and got no word at all.
bool lacks_command(const CLI::App& command);

}  // namespace underlap::bench
