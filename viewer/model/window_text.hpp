// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace underlap::viewer {

/// A message of the profiler without advice that only the command line can follow: parentheses, and lines after the
/// first, that contain an option ("--force"). Commands to record or export a trace stay: they are on the first line.
std::string window_text(const std::string& message);

}  // namespace underlap::viewer
