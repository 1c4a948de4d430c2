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

/// The manual page of `program` in the macros of man(7), section 1. `date`: of what it describes, YYYY-MM-DD.
std::string manual_page(const Command& program, const std::string& version, const std::string& date);

/// A script that completes the words of `program` in `shell`: commands, options, known values, and file names where
/// files are accepted. Throws std::invalid_argument for a shell that is not in completion_shells().
std::string completion_script(const Command& program, const std::string& shell);

/// The supported shells.
std::vector<std::string> completion_shells();

}  // namespace underlap::bench
