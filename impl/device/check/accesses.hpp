// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "impl/device/program.hpp"

namespace underlap::check {

/// What a command does to some elements of a tensor.
struct MemoryAccess {
  View view;
  bool reads = false;
  bool writes = false;
  std::uint32_t part = 0;  ///< the use or transfer of its command that it belongs to; parts run at the same time
};

inline bool conflict(const MemoryAccess& a, const MemoryAccess& b) {
  return (a.writes || b.writes) && overlap(a.view, b.view);
}

/// All that `command` does to memory, empty views left out. An acquire and a release count as writes: no use may be
/// unordered with them. What a broadcast has as input is read on its root alone.
std::vector<MemoryAccess> accesses_of(const Program& program, const ProgramCommand& command);

}  // namespace underlap::check
