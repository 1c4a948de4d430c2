// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "profiler/trace/trace.hpp"

namespace underlap {
class Reading;
}

namespace underlap::formats {

/// Reads a native trace, compressed with zstd or not, whole into memory.
///
/// What cannot be used is counted in Trace::import.skipped by reason, and everything before it is kept: a truncated
/// end, a block whose checksum does not match, what a block announced and did not give, a slice begun and not ended, a
/// communication without a group, times that overflow, packets that are not ours.
/// Throws as read_bytes() does, and Cancelled; std::invalid_argument for a Perfetto trace that Underlap did not write,
/// and for one of a newer schema.
Trace read_perfetto(const std::filesystem::path&, Reading&);

/// The same from memory, not compressed. `origin` names the bytes in messages.
Trace read_perfetto(std::string_view bytes, const std::filesystem::path& origin);

}  // namespace underlap::formats
