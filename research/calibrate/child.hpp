// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace underlap::bench {

/// Runs a program to its end with `variables` added to this process's environment, and returns its standard output.
/// Needed for settings that a process reads only once, when it starts CUDA.
///
/// arguments  the program's path, then its arguments
/// Throws MachineError if it cannot be started or ends with a status other than 0.
std::string run_child(const std::vector<std::string>& arguments,
                      const std::vector<std::pair<std::string, std::string>>& variables);

}  // namespace underlap::bench
