// SPDX-License-Identifier: Apache-2.0
#include "impl/model/text_data.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "impl/model/shipped_text.hpp"
#include "platform/input/input_file.hpp"

namespace underlap::model {
namespace {

// splitmix64: spreads successive ids over the text. Source: Steele, Lea & Flood 2014.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

// Each rank reads it, which a pipe allows once.
std::string read(const std::filesystem::path& path) try {
  return read_input_file(path, {.memory_factor = 1}, GivenPipes::refused);
} catch (const std::invalid_argument& error) {
  throw std::invalid_argument(fmt::format("{} (train.data)", error.what()));
}

// Repeats the text if a sequence is longer, so that a sample can start at any place of the text.
std::string shipped_text_for(std::int64_t seq_length) {
  std::string text(shipped_text());
  const std::size_t once = text.size();
  if (std::cmp_greater(once, seq_length)) return text;
  while (std::cmp_less(text.size(), seq_length + static_cast<std::int64_t>(once))) text += shipped_text();
  return text;
}

}  // namespace

TextData::TextData(std::string text, std::string source, std::int64_t seq_length, std::uint64_t seed)
    : text_(std::move(text)), seq_length_(seq_length), seed_(seed) {
  if (text_.empty())
    throw std::invalid_argument(
        fmt::format("{} is empty; use a text of at least {} bytes (train.data)", source, seq_length + 1));
  if (static_cast<std::int64_t>(text_.size()) < seq_length + 1)
    throw std::invalid_argument(fmt::format("{} has {} bytes; seq_length {} needs at least {} (train.data)", source,
                                            text_.size(), seq_length, seq_length + 1));
}

TextData TextData::open(const std::filesystem::path& path, std::int64_t seq_length, std::uint64_t seed) {
  if (path.empty()) return {shipped_text_for(seq_length), "the text that ships with Underlap", seq_length, seed};
  return {read(path), path.string(), seq_length, seed};
}

TextData TextData::unread(std::int64_t seq_length) { return TextData(seq_length); }

void TextData::append_sample(std::int64_t id, std::vector<std::int32_t>& inputs,
                             std::vector<std::int32_t>& targets) const {
  if (text_.empty()) {
    inputs.resize(inputs.size() + static_cast<std::size_t>(seq_length_));
    targets.resize(targets.size() + static_cast<std::size_t>(seq_length_));
    return;
  }
  const std::uint64_t num_starts = text_.size() - static_cast<std::size_t>(seq_length_);
  const std::size_t start = mix(mix(seed_) ^ static_cast<std::uint64_t>(id)) % num_starts;
  for (std::size_t i = start; i < start + static_cast<std::size_t>(seq_length_); ++i) {
    inputs.push_back(static_cast<unsigned char>(text_[i]));
    targets.push_back(static_cast<unsigned char>(text_[i + 1]));
  }
}

}  // namespace underlap::model
