// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "profiler/trace/tag.hpp"

namespace underlap::attribution {

/// The purpose of a group of ranks, according to its name.
struct GroupMeaning {
  Mode mode = Mode::none;
  std::uint8_t confidence_pct = 0;
  std::string_view maker = {};  ///< the framework that uses the name: "Megatron", "DeviceMesh"
};

/// Reads the name of a process group or communicator. nullopt for names without a meaning, such as "undefined",
/// "default_pg" or a number.
std::optional<GroupMeaning> meaning_of_group(std::string_view name);

}  // namespace underlap::attribution
