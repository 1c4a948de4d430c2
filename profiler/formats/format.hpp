// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/trace/reading.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::formats {

/// A trace format: one file `<name>_format.cpp` that defines `Format <name>_format()`, and one line in CMakeLists.txt.
///
/// CMake writes the table of formats from that line. (Registration objects would vanish without a warning from the
/// STATIC library of this layer; a generated table cannot.)
struct Format {
  std::string_view name;         ///< one word, as `underlap list formats` shows it
  std::string_view extension;    ///< of its files, with the dot; `.zst` may follow it
  std::string_view description;  ///< one line
  /// Whether a file that begins with these bytes (up to kSniffBytes, decompressed) is of this format.
  bool (*sniff)(std::string_view);
  /// Reads a file. Throws std::invalid_argument where it cannot be opened or nothing in it can be used, MachineError
  /// where reading fails; bad records are counted in Trace::import. Tells `Reading` so often how far it is, and shows
  /// it what there is, that it can end within a tenth of a second by throwing Cancelled.
  Trace (*read)(const std::filesystem::path&, Reading&);
  /// Writes a file, whole or not at all; nullptr: this format is only read. Throws MachineError, and
  /// std::invalid_argument for a trace that no file can hold.
  void (*write)(const std::filesystem::path&, const Trace&);
  /// The files that `write` writes, where they are others than the one that it is given; nullptr: that one.
  std::vector<std::filesystem::path> (*files)(const std::filesystem::path&, const Trace&) = nullptr;
  bool gzip = false;  ///< written compressed where `.gz` follows the extension
};

inline constexpr std::size_t kSniffBytes = 4096;

/// Every format, in the order in which they sniff.
std::span<const Format> formats();

/// Whether a file starts as a trace of some format does. Throws as ByteStream.
bool is_trace(const std::filesystem::path&);

/// Names an unreadable file, and what to give instead (unreadable.hpp); empty for a trace or an unknown file. Throws
/// as ByteStream.
std::string unreadable_file(const std::filesystem::path&);

/// Reads a trace of any format, which its first bytes show, compressed with zstd or gzip or not.
///
/// Throws std::invalid_argument for what is no file or cannot be opened, for an empty file, for one that cannot be
/// used (naming what it is and what to give instead) or is of no known format (naming the known ones), for one that
/// memory does not hold, and for a native trace of a newer schema; MachineError where reading fails, or memory runs out
/// all the same.
Trace read_trace(const std::filesystem::path&);

/// The same, watched, as what `Reading` has begun. Throws Cancelled, too.
Trace read_trace(const std::filesystem::path&, Reading&);

/// Whether `schema`, which `origin` states, is `family` with a version. Throws std::invalid_argument for a version
/// after `newest`.
bool is_schema_of(std::string_view schema, std::string_view family, std::int32_t newest, const std::string& origin);

/// Throws std::invalid_argument for a file whose extension no format writes, naming those that exist.
void check_extension(const std::filesystem::path&);

/// The files that write_trace() writes: the one that it is given, or one a rank. Throws as check_extension().
std::vector<std::filesystem::path> written_files(const std::filesystem::path&, const Trace&);

/// Writes a trace in the format of the file's extension. A suffix `.zst` (and for JSON `.gz`) compresses it.
///
/// Throws as check_extension(); MachineError where a file cannot be written; std::invalid_argument for a trace that no
/// file can hold (a negative duration, a track that it does not have).
void write_trace(const std::filesystem::path&, const Trace&);

}  // namespace underlap::formats
