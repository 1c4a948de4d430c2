// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "profiler/trace/tag.hpp"

namespace underlap::attribution {

/// What a group of ranks is for, as its name says.
struct GroupMeaning {
  Mode mode = Mode::none;
  std::uint8_t confidence_pct = 0;
  std::string_view maker = {};  ///< whose name it is: "Megatron", "DeviceMesh"
};

/// Reads what a process group or communicator is called. nullopt for names that say nothing, as "undefined",
/// "default_pg" or a number.
std::optional<GroupMeaning> meaning_of_group(std::string_view name);

}  // namespace underlap::attribution
