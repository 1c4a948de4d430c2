// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/kineto/own_tags.hpp"

#include <fmt/format.h>

#include <iterator>
#include <stdexcept>

#include "platform/json.hpp"
#include "profiler/formats/format.hpp"
#include "profiler/formats/json_object.hpp"

namespace underlap::formats::kineto {
namespace {

using nlohmann::ordered_json;

void append_group(std::string& out, const GroupRecord& group) {
  JsonObject object(out);
  object.add_exact("purpose", name_of(group.purpose));
  append_json_array(object.member("ranks"), group.ranks);
  object.add_exact("name", name_of(group.name));
  object.add_exact("description", name_of(group.description));
  object.add("num_ranks", group.num_ranks);
}

void append_track(std::string& out, const Track& track) {
  JsonObject object(out);
  object.add("rank", track.rank);
  object.add("stream", track.stream);
  object.add_exact("name", track.name);
  object.add("kind", to_string(track.kind));
  object.add("device", track.device);
}

// Those of `items` that are of `rank`, each as `append(out, item)` writes it.
template <class Items, class Append>
void append_of_rank(std::string& out, const Items& items, std::int32_t rank, Append&& append) {
  std::vector<typename Items::value_type> own;
  std::ranges::copy_if(items, std::back_inserter(own), [&](const auto& item) { return item.rank == rank; });
  append_json_array(out, own, append);
}

void add_tag(JsonObject& object, const Tag& tag) {
  if (tag.kind != Kind::compute) object.add("kind", to_string(tag.kind));
  if (tag.mode != Mode::none) object.add("mode", to_string(tag.mode));
  if (tag.direction != Direction::none) object.add("direction", to_string(tag.direction));
  if (tag.purpose != kNoName) object.add_exact("purpose", name_of(tag.purpose));
  for (const auto& [key, member] : kTagNumbers)
    if (tag.*member != -1) object.add(key, tag.*member);
}

void add_attribution(JsonObject& object, const Attribution& attribution) {
  const Attribution usual;
  if (attribution.source != usual.source) object.add("source", to_string(attribution.source));
  if (attribution.confidence_pct != usual.confidence_pct) object.add("confidence_pct", attribution.confidence_pct);
  if (attribution.reason != usual.reason) object.add_exact("reason", name_of(attribution.reason));
}

void add_shape(JsonObject& object, const LaunchShape& shape) {
  if (shape == LaunchShape()) return;
  const auto& [grid, block, bytes] = shape;
  const std::array<std::int64_t, 7> numbers{grid[0], grid[1], grid[2], block[0], block[1], block[2], bytes};
  append_json_array(object.member("shape"), numbers);
}

void append_transfer(std::string& out, const TransferRecord& transfer) {
  JsonObject object(out);
  object.add("collective", to_string(transfer.collective));
  object.add("dtype", to_string(transfer.dtype));
  object.add("peer", transfer.peer);
  object.add("bytes", transfer.bytes);
  object.add("bytes_on_wire", transfer.bytes_on_wire);
}

void add_communication(JsonObject& object, const CommunicationRecord& record) {
  object.add("group", record.group);
  object.add("sequence", record.sequence);
  if (record.last_arrival_ns != -1) object.add("last_arrival_ns", record.last_arrival_ns);
  if (record.cpu_ns != -1) object.add("cpu_ns", record.cpu_ns);
  if (record.is_part) object.add("is_part", 1);
  if (!record.transfers.empty()) append_json_array(object.member("transfers"), record.transfers, append_transfer);
}

void append_flow(std::string& out, const FlowFrom& flow) {
  JsonObject object(out);
  object.add("kind", to_string(flow.first));
  object.add("from", flow.second);
}

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

// {"schema": "underlap.kineto/1", "rank": 0, "clock_offset_ns": 0, "metadata": [["cell", "off"]],
//  "groups": [{"purpose": "", "ranks": [0, 1], "name": "dp_gather", ...}],
//  "tracks": [{"rank": 0, "stream": 1, "name": "dp_comm", "kind": "stream", "device": 0}],
//  "marks": [[BLOCK, STEP, NS], ...], "clocks": [[DEVICE_NS, UNIX_NS], ...]}
OwnHeader header_of(const ordered_json& json, const std::string& origin) {
  if (!is_schema_of(json.at("schema").get<std::string>(), kOwnSchemaFamily, kOwnSchemaVersion, origin))
    throw std::out_of_range("schema");
  OwnHeader header{.trace = {}, .clock_offset_ns = json.at("clock_offset_ns").get<std::int64_t>()};
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

void append_own_header(std::string& out, const Trace& trace, std::int32_t rank, std::int64_t clock_offset_ns) {
  JsonObject object(out);
  object.add("schema", fmt::format("{}{}", kOwnSchemaFamily, kOwnSchemaVersion));
  object.add("rank", rank);
  object.add("clock_offset_ns", clock_offset_ns);
  append_json_array(object.member("metadata"), trace.metadata, [](std::string& to, const auto& entry) {
    to += '[';
    append_exact_text(to, entry.first);
    to += ',';
    append_exact_text(to, entry.second);
    to += ']';
  });
  append_json_array(object.member("groups"), trace.groups, append_group);
  append_of_rank(object.member("tracks"), trace.tracks, rank, append_track);
  append_of_rank(object.member("marks"), trace.marks, rank, [](std::string& to, const Mark& mark) {
    append_json_array(to, std::array<std::int64_t, 3>{mark.block, mark.step, mark.time_ns});
  });
  append_of_rank(object.member("clocks"), trace.clocks, rank, [](std::string& to, const ClockSnapshot& clock) {
    append_json_array(to, std::array{clock.device_ns, clock.unix_ns});
  });
}

std::optional<OwnHeader> read_own_header(std::string_view text, const std::string& origin) {
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

void append_own_slice(std::string& out, const Trace& trace, std::size_t i, const OwnPlace& place) {
  const Slice slice = trace.slice(i);
  JsonObject object(out);
  object.add("track", place.track);
  if (place.shown_name != name_of(slice.name)) object.add_exact("name", name_of(slice.name));
  add_tag(object, slice.tag);
  if (slice.operation != 0) object.add("operation", slice.operation);
  add_attribution(object, slice.attribution);
  add_shape(object, slice.shape);
  if (const CommunicationRecord* record = trace.communication(i)) add_communication(object, *record);
  if (!place.flows.empty()) append_json_array(object.member("flows"), place.flows, append_flow);
}

}  // namespace underlap::formats::kineto
