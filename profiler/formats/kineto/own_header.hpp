// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "profiler/trace/trace.hpp"

namespace underlap::formats {

/// The header of a file that Underlap wrote: a trace with its tracks, groups, marks, clocks and metadata, still without
/// slices.
struct OwnKinetoHeader {
  Trace trace;
  std::int64_t clock_offset_ns = 0;
};

/// Reads the member `underlap` (own_tags.hpp). nullopt where it cannot be used: then the file is as any other.
/// Throws std::invalid_argument, naming `origin`, for a newer schema.
std::optional<OwnKinetoHeader> read_own_header(std::string_view json, const std::string& origin);

}  // namespace underlap::formats
