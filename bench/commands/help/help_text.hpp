// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "bench/commands/help/command_tree.hpp"

namespace underlap::bench {

/// What `--help` prints for `command`; no line of text is longer than `width`, examples are as they were written.
std::string help_text(const Command& command, int width);

/// What who asked for nothing is told: what the program is, and where to begin.
std::string first_page();

/// Columns that help on standard output may take: those of the terminal, but no more than read well.
int help_width();

/// "underlap run [OPTIONS] CONFIG".
std::string usage_text(const Command& command);

/// "-o, --output DIR" or "CONFIG"; what is needed stands as it is, what may be left out in brackets where `optional`.
std::string option_text(const CommandOption& option);

}  // namespace underlap::bench
