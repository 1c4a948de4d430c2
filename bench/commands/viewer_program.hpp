// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace underlap::bench {

/// Replaces this process by the viewer, so that the viewer's exit code is this program's. Throws std::invalid_argument
/// if there is no viewer, and MachineError if it cannot be started.
[[noreturn]] void start_viewer(const std::vector<std::string>& arguments);

/// Runs the viewer and waits for it. Throws std::invalid_argument with the viewer's message if it rejects its arguments
/// or does not exist, and MachineError if it fails.
void run_viewer(const std::vector<std::string>& arguments);

}  // namespace underlap::bench
