// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "bench/commands/help/command_tree.hpp"

namespace underlap::bench {

/// A script that completes the words of `program` in `shell`: commands, options, and values where they are known; else
/// files where files may stand. Throws std::invalid_argument for a shell that is none of completion_shells().
std::string completion_script(const Command& program, const std::string& shell);

/// The shells that there are scripts for.
std::vector<std::string> completion_shells();

}  // namespace underlap::bench
