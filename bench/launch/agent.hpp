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
  std::filesystem::path folder;                      ///< where rank 0 leaves word of itself
  std::chrono::milliseconds timeout{0};              ///< to find it
  Facts facts = {};                                  ///< that all launched processes must share
  std::string complaint = {};                        ///< why this one cannot take part; empty: it can
  std::filesystem::path program = "/proc/self/exe";  ///< that its rank processes execute
};

/// The life of a launched process that is not rank 0: it finds the run, and starts and kills its own rank's processes
/// as the run orders, until the run is over. It prints nothing.
///
/// Returns the exit code of the run. Throws MachineError where rank 0 is not found in time, or is lost; its rank
/// processes have ended then.
int serve_agent(const AgentOptions& options);

}  // namespace underlap::bench
