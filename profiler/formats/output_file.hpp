// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

namespace underlap::formats {

/// A file that is written piece by piece and appears whole or not at all: the pieces go to a temporary file beside it,
/// which close() renames. A path that ends in `.gz` is compressed with gzip, one that ends in `.zst` with zstd.
class OutputFile {
 public:
  /// Throws MachineError where the temporary file cannot be opened.
  explicit OutputFile(const std::filesystem::path&);
  /// Removes what was written, where close() did not come.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Both throw MachineError where the file cannot be written.
  void write(std::string_view bytes);
  void close();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace underlap::formats
