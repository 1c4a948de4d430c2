// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>

#include "platform/room.hpp"
#include "profiler/trace/reading.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::formats {

/// Reads what PyTorch's profiler (Kineto) writes, and other Chrome traces: JSON, compressed with gzip or zstd or not,
/// as a stream. The text is never whole in memory, so that it may be larger than it.
///
/// What cannot be used is counted in Trace::import.skipped by reason, and everything else is kept: an event that is no
/// JSON (raw control characters and wrong escapes are mended), a time that overflows, a negative duration, an end that
/// is missing. Work that begins before its launch is kept and counted in metadata "work_before_its_launch". Throws
/// std::invalid_argument for what is no file, no JSON, or holds no event of a trace, and where the trace outgrows
/// `free_memory`; MachineError where reading fails.
Trace read_kineto(const std::filesystem::path&, std::int64_t free_memory = memory_room().amount);

/// The same, watched. Throws Cancelled, too.
Trace read_kineto(const std::filesystem::path&, Reading&, std::int64_t free_memory = memory_room().amount);

}  // namespace underlap::formats
