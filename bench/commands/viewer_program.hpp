// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace underlap::bench {

/// The viewer: beside this program, or else wherever the shell would find it.
std::string viewer_program();

/// Runs the viewer and waits for it. Throws std::invalid_argument with what it said where it refuses what it was given
/// or is not here, and MachineError where it fails.
void run_viewer(const std::vector<std::string>& arguments);

/// Why there is no viewer, and how to have one.
std::string no_viewer_text();

}  // namespace underlap::bench
