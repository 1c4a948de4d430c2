// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace underlap::formats {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

/// One whole zstd frame of `bytes`, at level 3, with a checksum of its content.
std::string zstd_frame(std::string_view bytes);

/// A file that is written piece by piece and appears whole or not at all. The pieces go to a temporary file in the same
/// folder, which close() renames. A path that ends in `.gz` is compressed with gzip, one that ends in `.zst` with zstd.
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
