// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>

#include "platform/memory_room.hpp"
#include "profiler/formats/kineto/dialect.hpp"
#include "profiler/trace/reading.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::formats {

/// Reads the output of PyTorch's profiler (Kineto), and other Chrome traces: JSON, optionally compressed with gzip or
/// zstd, as a stream. The text is never in memory as a whole, so it may be larger than memory.
///
/// Unusable events are counted in Trace::import.skipped by reason, and all others are kept. Unusable are an event that
/// is not JSON (raw control characters and wrong escapes are repaired), a time that overflows, a negative duration, and
/// a missing end. Work that begins before its launch is kept and counted in metadata "work_before_its_launch". Throws
/// std::invalid_argument if the path is not a file, if the text is not JSON or holds no event of a trace, and if the
/// trace outgrows `free_memory`; MachineError if reading fails.
Trace read_kineto(const std::filesystem::path&, std::int64_t free_memory = memory_room().amount);

/// The same, watched. Throws Cancelled, too.
Trace read_kineto(const std::filesystem::path&, Reading&, std::int64_t free_memory = memory_room().amount);

/// Reads a Chrome trace of another tool the same way. Throws std::invalid_argument, too, for one that the dialect
/// refuses.
Trace read_chrome_trace(const std::filesystem::path&, Reading&, KinetoDialect&,
                        std::int64_t free_memory = memory_room().amount);

}  // namespace underlap::formats
