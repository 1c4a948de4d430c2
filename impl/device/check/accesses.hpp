// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "impl/device/program.hpp"

namespace underlap::check {

/// One access of a command to elements of a tensor.
struct MemoryAccess {
  View view;
  bool reads = false;
  bool writes = false;
  std::uint32_t part = 0;  ///< the use or transfer of its command that it belongs to; parts run at the same time
};

inline bool conflict(const MemoryAccess& a, const MemoryAccess& b) {
  return (a.writes || b.writes) && overlap(a.view, b.view);
}

/// All memory accesses of `command`, without empty views. An acquire and a release count as writes: every use must be
/// ordered with them. Only the root of a broadcast reads the input.
std::vector<MemoryAccess> accesses_of(const Program& program, const ProgramCommand& command);

}  // namespace underlap::check
