// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "bench/commands/help/command_tree.hpp"

namespace underlap::bench {

/// What `--help` prints for `command`; no line of text is longer than `width`, examples are printed unchanged.
std::string help_text(const Command& command, int width);

/// Pages of `underlap help TOPIC` that are no commands, by topic.
const std::map<std::string, std::string>& help_topics();

/// What the program prints without arguments: what it is, and where to start.
std::string first_page();

/// Width of help on standard output: the terminal's, limited to a readable width.
int help_width();

/// "underlap run [OPTIONS] CONFIG".
std::string usage_text(const Command& command);

/// "-o, --output DIR" or "CONFIG".
std::string option_text(const CommandOption& option);

}  // namespace underlap::bench
