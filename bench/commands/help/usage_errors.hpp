// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace underlap::bench {

struct Command;

/// That `command` has none called `word`, and what may have been meant, or those that it has.
std::string unknown_command(const Command& command, const std::string& word);

/// What is wrong with the words that `app` was given and could not parse: the command, the word, what it may have been
/// meant to be, and where to read on.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error);

/// The command that words were given for: the innermost that was named.
const CLI::App& chosen_command(const CLI::App& app);

/// Whether `command` needs another word to say what to do, and got none at all.
bool lacks_command(const CLI::App& command);

}  // namespace underlap::bench
