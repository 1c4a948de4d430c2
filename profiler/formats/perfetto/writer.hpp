// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

#include "profiler/trace/trace.hpp"

namespace underlap::formats {

/// Writes a native trace, block by block: a stream of Perfetto packets that ui.perfetto.dev opens as it is.
///
/// A killed process leaves a readable file. Every packet is whole except perhaps the last, and each block has its
/// number of slices, so a reader knows what is missing. A path that ends in `.zst` is compressed, one zstd frame per
/// block. A writer must be used by one thread at a time.
class PerfettoWriter {
 public:
  /// Creates a file, or replaces it. With `append_at`, cuts an existing file to that many bytes instead, a length that
  /// bytes() once gave for it, and continues there.
  /// Throws MachineError where the file cannot be opened, std::invalid_argument for an offset past the file's end.
  explicit PerfettoWriter(const std::filesystem::path& path, std::optional<std::int64_t> append_at = std::nullopt);
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
