// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

#include "profiler/trace/trace.hpp"

namespace underlap::formats {

/// Where in its file a PerfettoWriter begins.
class WriteAt {
 public:
  /// A new file; an existing one is replaced.
  static WriteAt create() { return WriteAt{std::nullopt}; }
  /// An existing file, cut to `bytes` first: a length that PerfettoWriter::bytes() once gave for it.
  static WriteAt append_at(std::int64_t bytes) { return WriteAt{bytes}; }

  const std::optional<std::int64_t>& offset() const { return offset_; }

 private:
  explicit WriteAt(std::optional<std::int64_t> offset) : offset_(offset) {}
  std::optional<std::int64_t> offset_;
};

/// Writes a native trace, block by block: a stream of Perfetto packets that ui.perfetto.dev opens as it is.
///
/// A killed process leaves a readable file. Every packet is whole except perhaps the last, and each block has its
/// number of slices, so a reader knows what is missing. A path that ends in `.zst` is compressed, one zstd frame per
/// block. A writer must be used by one thread at a time.
class PerfettoWriter {
 public:
  /// Throws MachineError where the file cannot be opened, std::invalid_argument for an offset past the file's end.
  PerfettoWriter(const std::filesystem::path& path, WriteAt where);
  ~PerfettoWriter();
  PerfettoWriter(PerfettoWriter&&) noexcept;
  PerfettoWriter& operator=(PerfettoWriter&&) noexcept;

  /// Writes all of `block` and hands it to the operating system before it returns.
  ///
  /// Slices, marks, clocks, groups, tracks and metadata are added to what the file holds; Trace::import is not written.
  /// Throws MachineError where the file cannot be written (it is cut back to bytes() where that is possible), and
  /// std::invalid_argument, with nothing written, for a slice of a negative duration or of a track or group that
  /// `block` does not have.
  void append(const Trace& block);

  /// Length of the file after the last whole block: append_at may continue there.
  std::int64_t bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace underlap::formats
