// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace underlap::bench {

/// The viewer: in this program's folder, or else where the shell would find it.
std::string viewer_program();

/// Runs the viewer and waits for it. Throws std::invalid_argument with the viewer's message if it rejects its arguments
/// or does not exist, and MachineError if it fails.
void run_viewer(const std::vector<std::string>& arguments);

/// Why there is no viewer, and how to get one.
std::string no_viewer_text();

}  // namespace underlap::bench
