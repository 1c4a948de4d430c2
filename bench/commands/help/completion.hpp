// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "bench/commands/help/command_tree.hpp"

namespace underlap::bench {

/// A script that completes the words of `program` in `shell`: commands, options, known values, and file names where
/// files are accepted. Throws std::invalid_argument for a shell that is not in completion_shells().
std::string completion_script(const Command& program, const std::string& shell);

/// The supported shells.
std::vector<std::string> completion_shells();

}  // namespace underlap::bench
