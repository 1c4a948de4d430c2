// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace underlap::plan {

/// How a context-parallel group shares attention.
enum class CpCommType : std::uint8_t { p2p, all_gather, a2a, a2a_p2p };

struct ContextConfig {
  std::vector<CpCommType> cp_comm_type{CpCommType::p2p};  ///< by layer; one entry: of all layers
  /// Ranks of the all-to-all, which lie next to each other, and of the ring around them. nullopt but with a2a_p2p.
  std::optional<std::array<std::int32_t, 2>> hierarchical_context_parallel_sizes;

  CpCommType of_layer(std::int32_t layer) const {
    return cp_comm_type.size() == 1 ? cp_comm_type.front() : cp_comm_type.at(static_cast<std::size_t>(layer));
  }
};

}  // namespace underlap::plan
