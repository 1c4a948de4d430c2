// SPDX-License-Identifier: Apache-2.0
#pragma once

// Text from and to JSON, compiled once: the library's parser and writer are templates that would take each source that
// calls them three seconds.
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace underlap {

/// `value` as text, with `indent` spaces a level; -1: on one line. Bytes that are not UTF-8 become U+FFFD, since a name
/// in a trace need not be text. Characters that would act on a terminal are escaped (json_escaped()).
std::string json_text(const nlohmann::json& value, int indent = -1);
std::string json_text(const nlohmann::ordered_json& value, int indent = -1);

/// The value that `text` is, its keys in the order of the text. Throws nlohmann::ordered_json::parse_error, also where
/// it is nested deeper than 100 levels.
nlohmann::ordered_json parse_json(std::string_view text);

/// The same, discarded (is_discarded()) where `text` is not JSON, or nested so deep.
nlohmann::ordered_json parse_json_or_discard(std::string_view text);

/// The same; where `text` is no JSON, throws std::invalid_argument with the file that it is from, and the line.
nlohmann::ordered_json parse_json_of(const std::filesystem::path& file, std::string_view text);

/// A file of JSON whole. Throws as parse_json_of() and read_input_file().
nlohmann::ordered_json read_json_file(const std::filesystem::path& file);

/// Bytes of memory for each byte of text: a document takes several times its text.
inline constexpr std::int64_t kJsonMemoryFactor = 16;

}  // namespace underlap
