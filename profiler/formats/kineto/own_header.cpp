// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/kineto/own_header.hpp"

#include <fmt/format.h>

#include <charconv>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "platform/json.hpp"
#include "profiler/formats/json_object.hpp"
#include "profiler/formats/kineto/own_tags.hpp"

namespace underlap::formats {
namespace {

using nlohmann::ordered_json;

// Throws nlohmann's exceptions for what is no such text; they end the header.
std::string exact_text(const ordered_json& value) {
  if (value.is_string()) return value.get<std::string>();
  return bytes_of_hex(value.at("hex").get<std::string>());
}

Track track_of(const ordered_json& value, std::int32_t rank) {
  const auto kind = track_kind_from(value.at("kind").get<std::string>());
  if (!kind) throw std::out_of_range("kind");
  return {.rank = rank,
          .stream = value.at("stream").get<std::int32_t>(),
          .name = exact_text(value.at("name")),
          .kind = *kind,
          .device = value.at("device").get<std::int32_t>()};
}

GroupRecord group_of(const ordered_json& value) {
  return {.purpose = intern(exact_text(value.at("purpose"))),
          .ranks = value.at("ranks").get<std::vector<std::int32_t>>(),
          .name = intern(exact_text(value.at("name"))),
          .description = intern(exact_text(value.at("description"))),
          .num_ranks = value.at("num_ranks").get<std::int32_t>()};
}

void check_schema(const std::string& schema, const std::string& origin) {
  std::int32_t version = 0;
  const std::string_view text = schema;
  if (!text.starts_with(kineto::kOwnSchemaFamily)) throw std::out_of_range("schema");
  const std::string_view digits = text.substr(kineto::kOwnSchemaFamily.size());
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), version);
  if (error != std::errc() || end != digits.data() + digits.size()) throw std::out_of_range("schema");
  if (version > kineto::kOwnSchemaVersion)
    throw std::invalid_argument(
        fmt::format("{}: written with schema {}, but this Underlap reads up to {}{}; use the Underlap that wrote it, "
                    "or a newer one",
                    origin, schema, kineto::kOwnSchemaFamily, kineto::kOwnSchemaVersion));
}

OwnKinetoHeader header_of(const ordered_json& json, const std::string& origin) {
  check_schema(json.at("schema").get<std::string>(), origin);
  OwnKinetoHeader header{.trace = {}, .clock_offset_ns = json.at("clock_offset_ns").get<std::int64_t>()};
  Trace& trace = header.trace;
  const auto rank = json.at("rank").get<std::int32_t>();
  for (const ordered_json& entry : json.at("metadata"))
    trace.metadata[exact_text(entry.at(0))] = exact_text(entry.at(1));
  // In this order: slices refer to them by index.
  for (const ordered_json& group : json.at("groups")) trace.groups.push_back(group_of(group));
  for (const ordered_json& track : json.at("tracks")) trace.tracks.push_back(track_of(track, rank));
  for (const ordered_json& mark : json.at("marks"))
    trace.marks.push_back({.rank = rank,
                           .block = mark.at(0).get<std::int32_t>(),
                           .step = mark.at(1).get<std::int32_t>(),
                           .time_ns = mark.at(2).get<std::int64_t>()});
  for (const ordered_json& clock : json.at("clocks"))
    trace.clocks.push_back({rank, clock.at(0).get<std::int64_t>(), clock.at(1).get<std::int64_t>()});
  trace.import.events = static_cast<std::int64_t>(trace.marks.size());
  return header;
}

}  // namespace

std::optional<OwnKinetoHeader> read_own_header(std::string_view text, const std::string& origin) {
  const ordered_json json = parse_json_or_discard(text);
  if (!json.is_object()) return std::nullopt;
  try {
    return header_of(json, origin);
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  } catch (const std::out_of_range&) {
    return std::nullopt;
  }
}

}  // namespace underlap::formats
