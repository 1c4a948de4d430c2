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

/// Whether one order of all nodes agrees with every sequence of them. If there is no such order, returns the
/// contradiction: a circle of precedences. Each ends at the node that starts the next, and the last one at the start of
/// the first. Empty if there is an order. Nodes count from 0; a node that follows itself is no contradiction.
std::vector<Precedence> find_contradiction(const std::vector<std::vector<std::uint32_t>>& sequences);

}  // namespace underlap::check
