// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace underlap::hostile {

/// How a command ended, and what it printed.
struct Ended {
  bool in_time = true;  ///< false: it was killed at the deadline
  int signal = 0;
  int exit_code = -1;
  std::string out;
  std::string err;
};

/// Runs a shell command in `folder`, where the programs that are tested are found by name, as the leader of a process
/// group of its own, which ends with it.
Ended run_in(const std::filesystem::path& folder, const std::string& command);

}  // namespace underlap::hostile
