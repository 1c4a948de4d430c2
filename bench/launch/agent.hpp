// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "bench/launch/agent_messages.hpp"
#include "bench/launch/launch.hpp"

namespace underlap::bench {

struct AgentOptions {
  Launch launch;
  std::filesystem::path folder;                      ///< folder with rank 0's launch file
  std::chrono::milliseconds timeout{0};              ///< to find it
  Facts facts = {};                                  ///< must be equal in all launched processes
  std::string complaint = {};                        ///< why this process cannot take part; empty: it can
  std::filesystem::path program = "/proc/self/exe";  ///< executed by its rank processes
};

/// Main loop of a launched process other than rank 0: finds the run, then starts and kills its own rank's processes on
/// the run's orders, until the run is over. It prints nothing.
///
/// Returns the exit code of the run. Throws MachineError if rank 0 is not found in time, or is lost; its rank processes
/// have ended then.
int serve_agent(const AgentOptions& options);

}  // namespace underlap::bench
