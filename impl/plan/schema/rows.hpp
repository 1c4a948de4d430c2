// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "impl/plan/slot.hpp"

// What the lists of settings (schema_*.cpp) share.
namespace underlap::plan {

using enum Type;
using enum Status;

inline constexpr auto kDdp = &Config::ddp;
inline constexpr auto kExtensions = &Config::extensions;

inline constexpr Range kSize{1, 1e9};
inline constexpr Range kRanks{1, 65536};  // of one kind of parallelism

}  // namespace underlap::plan
