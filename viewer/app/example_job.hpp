// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>

namespace underlap::viewer {

/// What the example is, and how its times came about.
inline constexpr const char* kExampleJob =
    "A run with overlap off and on, measured on one H100 GPU. The link to the other 7 ranks is emulated.";

/// Writes the run that the program carries to the user's cache, and returns its folder. Throws MachineError if it
/// cannot be written.
QString write_example_job();

}  // namespace underlap::viewer
