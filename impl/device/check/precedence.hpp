// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace underlap::check {

/// In `sequence`, the node at place `from` comes before the one at place `to`.
struct Precedence {
  std::size_t sequence = 0;
  std::size_t from = 0;
  std::size_t to = 0;
};

/// Whether one order of all nodes agrees with every sequence of them. Returns what contradicts itself where there is
/// none: precedences round a circle, each ending at the node that the next begins with, and the last where the first
/// begins. Empty where there is one. Nodes count from 0; one that follows itself is no contradiction.
std::vector<Precedence> find_contradiction(const std::vector<std::vector<std::uint32_t>>& sequences);

}  // namespace underlap::check
