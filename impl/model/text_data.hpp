// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace underlap::model {

/// A text whose bytes are the tokens of a language model.
class TextData {
 public:
  /// Throws std::invalid_argument naming `source` where the text is shorter than one sample: seq_length + 1 bytes.
  TextData(std::string text, std::string source, std::int64_t seq_length, std::uint64_t seed);

  /// The text that ships with Underlap if `path` is empty, repeated for sequences that are longer; else the file's
  /// bytes.
  /// Throws std::invalid_argument naming the file where it cannot be read, is empty or too short.
  static TextData open(const std::filesystem::path& path, std::int64_t seq_length, std::uint64_t seed);

  /// Samples of zeros, for uses that never read a value: no text is needed, however long the sequences are.
  static TextData unread(std::int64_t seq_length);

  /// Appends the inputs of sample `id` (seq_length bytes of the text) to `inputs` and the bytes that follow each to
  /// `targets`. Where a sample begins depends on its id and the seed alone: ids are global, so a data-parallel group of
  /// two sees what one rank sees.
  void append_sample(std::int64_t id, std::vector<std::int32_t>& inputs, std::vector<std::int32_t>& targets) const;

 private:
  explicit TextData(std::int64_t seq_length) : seq_length_(seq_length), seed_(0) {}

  std::string text_;  // empty: unread
  std::int64_t seq_length_;
  std::uint64_t seed_;
};

}  // namespace underlap::model
