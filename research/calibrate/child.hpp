// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace underlap::bench {

/// Runs a program to its end with `variables` set on top of this process's environment, and returns what it wrote to
/// its standard output. What a process reads once, when CUDA starts in it, needs a process of its own.
///
/// arguments  the program's path, then its arguments
/// Throws MachineError where it cannot be started or ends with another status than 0.
std::string run_child(const std::vector<std::string>& arguments,
                      const std::vector<std::pair<std::string, std::string>>& variables);

}  // namespace underlap::bench
