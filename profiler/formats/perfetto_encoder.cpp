// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/perfetto_encoder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <protozero/pbf_writer.hpp>
#include <set>
#include <stdexcept>
#include <utility>

#include "profiler/formats/checksum.hpp"
#include "profiler/formats/perfetto_fields.hpp"

namespace underlap::formats {
namespace {

using namespace perfetto;
using protozero::pbf_writer;

constexpr std::uint32_t kSequenceId = 1;
constexpr std::uint64_t kNumKinds = 3;
constexpr std::uint64_t kNumModes = 8;

// Category ids: kinds, then modes.
std::uint64_t category_iid(Kind kind) { return 1 + static_cast<std::uint64_t>(kind); }
std::uint64_t category_iid(Mode mode) { return 1 + kNumKinds + static_cast<std::uint64_t>(mode); }

void check_slice(const Trace& block, std::size_t i) {
  std::int64_t end = 0;
  if (block.track(i) >= block.tracks.size())
    throw std::invalid_argument(fmt::format("slice {}: track {} of {}", i, block.track(i), block.tracks.size()));
  if (block.duration_ns()[i] < 0 || __builtin_add_overflow(block.start_ns()[i], block.duration_ns()[i], &end))
    throw std::invalid_argument(fmt::format("slice {} ({}): starts at {} ns and lasts {} ns", i, name_of(block.name(i)),
                                            block.start_ns()[i], block.duration_ns()[i]));
  const CommunicationRecord* record = block.communication(i);
  if (record != nullptr && record->group >= block.groups.size())
    throw std::invalid_argument(
        fmt::format("slice {} ({}): group {} of {}", i, name_of(block.name(i)), record->group, block.groups.size()));
}

void add_entry(std::string& interned, std::uint32_t field, std::uint64_t iid, std::string_view text) {
  pbf_writer data(interned);
  pbf_writer entry(data, field);
  entry.add_uint64(interned::kIid, iid);
  entry.add_string(interned::kText, text.data(), text.size());
}

// Names that every trace uses: annotations and categories.
void add_fixed_entries(std::string& interned) {
  for (std::size_t i = 0; i < kAnnotations.names.size(); ++i)
    add_entry(interned, interned::kAnnotationNames, i + 1, kAnnotations.names[i]);
  for (std::uint64_t kind = 0; kind < kNumKinds; ++kind)
    add_entry(interned, interned::kCategories, 1 + kind, to_string(static_cast<Kind>(kind)));
  for (std::uint64_t mode = 0; mode < kNumModes; ++mode)
    add_entry(interned, interned::kCategories, 1 + kNumKinds + mode, to_string(static_cast<Mode>(mode)));
}

std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 0xCBF29CE484222325ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  return hash;
}

std::uint64_t iid_of(Annotation name) { return 1 + static_cast<std::uint64_t>(name); }

template <class Enum>
NameId word(Enum value) {
  return intern(to_string(value));
}

// A packet with our message, whose one field is a message filled by `fill`.
template <class Fill>
void add_message(pbf_writer& packet, std::uint32_t field, Fill&& fill) {
  pbf_writer ours(packet, packet::kUnderlap);
  pbf_writer message(ours, field);
  fill(message);
}

}  // namespace

std::string PerfettoEncoder::encode(const Trace& block) {
  for (std::size_t i = 0; i < block.size(); ++i) check_slice(block, i);
  out_.clear();
  begin_block(block);
  write_metadata(block);
  write_groups(block);
  write_tracks(block);
  for (std::size_t i = 0; i < block.size(); ++i) write_slice(block, i, slice_uuids_[i]);
  for (const Mark& mark : block.marks) write_mark(mark);
  for (const ClockSnapshot& clock : block.clocks) write_clock(clock);
  end_block();
  num_written_ += block.size();
  return std::move(out_);
}

void PerfettoEncoder::forget() { *this = PerfettoEncoder(); }

void PerfettoEncoder::begin_block(const Trace& block) {
  pbf_writer stream(out_);
  pbf_writer packet(stream, kTracePacket);
  packet.add_uint32(packet::kSequence, kSequenceId);
  if (!state_cleared_) {
    packet.add_uint32(packet::kSequenceFlags, kStateCleared);
    std::string fixed;
    add_fixed_entries(fixed);
    packet.add_message(packet::kInternedData, fixed);
    state_cleared_ = true;
  }
  pbf_writer ours(packet, packet::kUnderlap);
  ours.add_string(underlap_message::kSchema, fmt::format("{}{}", kSchemaFamily, kSchemaVersion));
  pbf_writer counts(ours, underlap_message::kBlockBegin);
  counts.add_uint64(1, block.size());
  counts.add_uint64(2, block.marks.size());
  counts.add_uint64(3, block.clocks.size());
  counts.add_uint32(4, 1);
}

void PerfettoEncoder::end_block() {
  {
    pbf_writer stream(out_);
    pbf_writer packet(stream, kTracePacket);
    packet.add_uint32(packet::kSequence, kSequenceId);
    pbf_writer ours(packet, packet::kUnderlap);
    ours.add_uint32(underlap_message::kBlockEnd, 1);
    ours.add_fixed32(underlap_message::kChecksum, 0);
  }
  // Lengths are part of what is checked, and are known only now.
  const std::size_t checked = out_.size() - sizeof(std::uint32_t);
  const std::uint32_t checksum = checksum_of(std::string_view(out_).substr(0, checked));
  for (std::size_t i = 0; i < sizeof checksum; ++i) out_[checked + i] = static_cast<char>(checksum >> (8 * i));
}

void PerfettoEncoder::write_metadata(const Trace& block) {
  pbf_writer stream(out_);
  for (const auto& [key, value] : block.metadata) {
    const auto said = metadata_.find(key);
    if (said != metadata_.end() && said->second == value) continue;
    metadata_[key] = value;
    pbf_writer packet(stream, kTracePacket);
    packet.add_uint32(packet::kSequence, kSequenceId);
    add_message(packet, underlap_message::kMetadata, [&](pbf_writer& entry) {
      entry.add_string(1, key);
      entry.add_string(2, value);
    });
  }
}

void PerfettoEncoder::write_groups(const Trace& block) {
  pbf_writer stream(out_);
  group_ids_.clear();
  for (const GroupRecord& group : block.groups) {
    const auto said = std::find(groups_.begin(), groups_.end(), group);
    const auto id = static_cast<std::uint64_t>(said - groups_.begin());
    group_ids_.push_back(id);
    if (said != groups_.end()) continue;
    groups_.push_back(group);
    pbf_writer packet(stream, kTracePacket);
    packet.add_uint32(packet::kSequence, kSequenceId);
    packet.add_uint32(packet::kSequenceFlags, kNeedsState);
    add_message(packet, underlap_message::kGroup, [&](pbf_writer& message) {
      const std::string_view purpose = name_of(group.purpose);
      message.add_uint64(1, id);
      message.add_string(2, purpose.data(), purpose.size());
      message.add_packed_sint32(3, group.ranks.begin(), group.ranks.end());
    });
  }
}

std::uint64_t PerfettoEncoder::unique_uuid(const std::string& key) {
  constexpr std::uint64_t kMask = (std::uint64_t{1} << 48) - 1;  // short as a varint, and still without collisions
  std::uint64_t uuid = fnv1a(key) & kMask;
  while (uuid == 0 || (uuids_.contains(uuid) && uuids_[uuid] != key)) uuid = (uuid + 1) & kMask;
  uuids_[uuid] = key;
  return uuid;
}

void PerfettoEncoder::write_rank(std::int32_t rank) {
  if (rank_uuids_.contains(rank)) return;
  const std::uint64_t uuid = unique_uuid(fmt::format("rank {}", rank));
  rank_uuids_[rank] = uuid;
  pbf_writer stream(out_);
  pbf_writer packet(stream, kTracePacket);
  packet.add_uint32(packet::kSequence, kSequenceId);
  pbf_writer track(packet, packet::kTrackDescriptor);
  track.add_uint64(descriptor::kUuid, uuid);
  track.add_string(descriptor::kName, fmt::format("rank {}", rank));
  track.add_int32(descriptor::kSiblingOrderRank, rank);
  track.add_enum(descriptor::kChildOrdering, descriptor::kOrderExplicit);
  track.add_enum(descriptor::kSiblingMergeBehavior, descriptor::kMergeNone);
}

void PerfettoEncoder::write_lane(const Track& track, StreamState& state) {
  write_rank(track.rank);
  const std::size_t lane = state.uuids.size();
  const std::uint64_t uuid =
      unique_uuid(fmt::format("lane {} of stream {} of rank {}: {}", lane, track.stream, track.rank, track.name));
  pbf_writer stream(out_);
  pbf_writer packet(stream, kTracePacket);
  packet.add_uint32(packet::kSequence, kSequenceId);
  {
    pbf_writer row(packet, packet::kTrackDescriptor);
    row.add_uint64(descriptor::kUuid, uuid);
    row.add_uint64(descriptor::kParentUuid, lane == 0 ? rank_uuids_[track.rank] : state.uuids[0]);
    row.add_string(descriptor::kName, lane == 0 ? track.name : fmt::format("{} lane {}", track.name, lane));
    row.add_int32(descriptor::kSiblingOrderRank, lane == 0 ? track.stream : static_cast<std::int32_t>(lane));
    row.add_enum(descriptor::kChildOrdering, descriptor::kOrderExplicit);
    row.add_enum(descriptor::kSiblingMergeBehavior, descriptor::kMergeNone);
  }
  add_message(packet, underlap_message::kTrack, [&](pbf_writer& message) {
    message.add_uint64(1, uuid);
    message.add_sint32(2, track.rank);
    message.add_sint32(3, track.stream);
    message.add_string(4, track.name);
  });
  state.uuids.push_back(uuid);
}

void PerfettoEncoder::write_tracks(const Trace& block) {
  std::vector<std::vector<std::size_t>> by_track(block.tracks.size());
  for (std::size_t i = 0; i < block.size(); ++i) by_track[block.track(i)].push_back(i);
  slice_uuids_.assign(block.size(), 0);
  for (std::size_t t = 0; t < block.tracks.size(); ++t) {
    const Track& track = block.tracks[t];
    StreamState& state = streams_[{track.rank, track.stream, track.name}];
    const std::vector<std::uint32_t> lanes = state.lanes.assign(block, by_track[t], num_written_);
    while (state.uuids.size() < std::max<std::size_t>(1, state.lanes.count())) write_lane(track, state);
    for (std::size_t i = 0; i < lanes.size(); ++i) slice_uuids_[by_track[t][i]] = state.uuids[lanes[i]];
  }
}

std::uint64_t PerfettoEncoder::name_iid(NameId name) {
  const auto [entry, is_new] = name_iids_.try_emplace(name, name_iids_.size() + 1);
  if (is_new) add_entry(interned_, interned::kEventNames, entry->second, name_of(name));
  return entry->second;
}

std::uint64_t PerfettoEncoder::string_iid(NameId text) {
  const auto [entry, is_new] = string_iids_.try_emplace(text, string_iids_.size() + 1);
  if (is_new) add_entry(interned_, interned::kStringValues, entry->second, name_of(text));
  return entry->second;
}

void PerfettoEncoder::annotate(std::size_t annotation, std::int64_t value) {
  pbf_writer event(event_);
  pbf_writer entry(event, event::kAnnotations);
  entry.add_uint64(annotation::kNameIid, annotation + 1);
  entry.add_int64(annotation::kInt, value);
}

void PerfettoEncoder::write_tag(const Slice& slice) {
  const Tag& tag = slice.tag;
  pbf_writer event(event_);
  event.add_uint64(event::kCategoryIids, category_iid(tag.kind));
  if (tag.mode != Mode::none) event.add_uint64(event::kCategoryIids, category_iid(tag.mode));
  const auto annotate_word = [&](Annotation name, NameId text) {
    pbf_writer entry(event, event::kAnnotations);
    entry.add_uint64(annotation::kNameIid, iid_of(name));
    entry.add_uint64(annotation::kStringIid, string_iid(text));
  };
  if (tag.mode != Mode::none) annotate_word(Annotation::mode, word(tag.mode));
  if (tag.purpose != kNoName) annotate_word(Annotation::purpose, tag.purpose);
  if (tag.direction != Direction::none) annotate_word(Annotation::direction, word(tag.direction));
  const std::array<std::pair<Annotation, std::int32_t>, 5> numbers{{{Annotation::layer, tag.layer},
                                                                    {Annotation::microbatch, tag.microbatch},
                                                                    {Annotation::bucket, tag.bucket},
                                                                    {Annotation::model_chunk, tag.chunk},
                                                                    {Annotation::step, tag.step}}};
  for (const auto& [name, number] : numbers)
    if (number != -1) annotate(static_cast<std::size_t>(name), number);
  if (slice.operation != 0) annotate(static_cast<std::size_t>(Annotation::operation), slice.operation);
}

void PerfettoEncoder::write_communication(const CommunicationRecord& record) {
  annotate(static_cast<std::size_t>(Annotation::group), static_cast<std::int64_t>(group_ids_[record.group]));
  annotate(static_cast<std::size_t>(Annotation::sequence), static_cast<std::int64_t>(record.sequence));
  if (record.last_arrival_ns != -1)
    annotate(static_cast<std::size_t>(Annotation::last_arrival_ns), record.last_arrival_ns);
  if (record.cpu_ns != -1) annotate(static_cast<std::size_t>(Annotation::cpu_ns), record.cpu_ns);
  if (record.transfers.empty()) return;
  pbf_writer event(event_);
  pbf_writer list(event, event::kAnnotations);
  list.add_uint64(annotation::kNameIid, iid_of(Annotation::transfers));
  for (const TransferRecord& transfer : record.transfers) {
    pbf_writer item(list, annotation::kArrayValues);
    const auto add = [&](Annotation name, std::uint32_t field, std::int64_t value) {
      pbf_writer entry(item, annotation::kDictEntries);
      entry.add_uint64(annotation::kNameIid, iid_of(name));
      entry.add_int64(field, value);
    };
    const auto iid = [&](NameId text) { return static_cast<std::int64_t>(string_iid(text)); };
    add(Annotation::collective, annotation::kStringIid, iid(word(transfer.collective)));
    add(Annotation::dtype, annotation::kStringIid, iid(word(transfer.dtype)));
    add(Annotation::peer, annotation::kInt, transfer.peer);
    add(Annotation::bytes, annotation::kInt, transfer.bytes);
    add(Annotation::bytes_on_wire, annotation::kInt, transfer.bytes_on_wire);
  }
}

void PerfettoEncoder::flush_event(std::int64_t time_ns) {
  pbf_writer stream(out_);
  pbf_writer packet(stream, kTracePacket);
  packet.add_uint64(packet::kTimestamp, static_cast<std::uint64_t>(time_ns));
  packet.add_uint32(packet::kSequence, kSequenceId);
  packet.add_uint32(packet::kSequenceFlags, kNeedsState);
  if (!interned_.empty()) packet.add_message(packet::kInternedData, interned_);
  packet.add_message(packet::kTrackEvent, event_);
  interned_.clear();
  event_.clear();
}

// The end stands right behind its begin: a reader pairs them without search and keeps the order of the slices.
void PerfettoEncoder::write_slice(const Trace& block, std::size_t i, std::uint64_t uuid) {
  const Slice slice = block.slice(i);
  pbf_writer event(event_);
  event.add_enum(event::kType, event::kSliceBegin);
  event.add_uint64(event::kTrackUuid, uuid);
  if (slice.name != kNoName) event.add_uint64(event::kNameIid, name_iid(slice.name));
  write_tag(slice);
  if (const CommunicationRecord* record = block.communication(i)) write_communication(*record);
  flush_event(slice.start_ns);

  event.add_enum(event::kType, event::kSliceEnd);
  event.add_uint64(event::kTrackUuid, uuid);
  flush_event(block.end_ns(i));
}

void PerfettoEncoder::write_mark(const Mark& mark) {
  write_rank(mark.rank);
  std::uint64_t& uuid = marks_uuids_[mark.rank];
  if (uuid == 0) {
    uuid = unique_uuid(fmt::format("marks of rank {}", mark.rank));
    pbf_writer stream(out_);
    pbf_writer packet(stream, kTracePacket);
    packet.add_uint32(packet::kSequence, kSequenceId);
    {
      pbf_writer row(packet, packet::kTrackDescriptor);
      row.add_uint64(descriptor::kUuid, uuid);
      row.add_uint64(descriptor::kParentUuid, rank_uuids_[mark.rank]);
      row.add_string(descriptor::kName, "steps");
      row.add_int32(descriptor::kSiblingOrderRank, -1);  // above the streams
      row.add_enum(descriptor::kSiblingMergeBehavior, descriptor::kMergeNone);
    }
    add_message(packet, underlap_message::kMarksTrack, [&](pbf_writer& message) {
      message.add_uint64(1, uuid);
      message.add_sint32(2, mark.rank);
    });
  }
  pbf_writer event(event_);
  event.add_enum(event::kType, event::kInstant);
  event.add_uint64(event::kTrackUuid, uuid);
  event.add_string(event::kName, fmt::format("end of step {}", mark.step));
  annotate(static_cast<std::size_t>(Annotation::block), mark.block);
  annotate(static_cast<std::size_t>(Annotation::step), mark.step);
  flush_event(mark.time_ns);
}

void PerfettoEncoder::write_clock(const ClockSnapshot& clock) {
  pbf_writer stream(out_);
  pbf_writer packet(stream, kTracePacket);
  // A clock of its own belongs to one sequence, so each rank's clock has a sequence.
  packet.add_uint32(packet::kSequence, kSequenceId + 1 + static_cast<std::uint32_t>(clock.rank));
  {
    pbf_writer snapshot(packet, packet::kClockSnapshot);
    const auto add = [&](std::uint32_t id, std::int64_t time_ns) {
      pbf_writer reading(snapshot, clock_snapshot::kClocks);
      reading.add_uint32(clock_snapshot::kClockId, id);
      reading.add_uint64(clock_snapshot::kTimestamp, static_cast<std::uint64_t>(time_ns));
    };
    add(clock_snapshot::kSequenceClock, clock.device_ns);
    add(clock_snapshot::kRealtime, clock.unix_ns);
  }
  add_message(packet, underlap_message::kClock, [&](pbf_writer& message) {
    message.add_sint32(1, clock.rank);
    message.add_sint64(2, clock.device_ns);
    message.add_sint64(3, clock.unix_ns);
  });
}

}  // namespace underlap::formats
