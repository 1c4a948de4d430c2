// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/perfetto/encoder.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <protozero/pbf_writer.hpp>
#include <utility>

#include "profiler/formats/perfetto/packets.hpp"
#include "profiler/formats/writable.hpp"

namespace underlap::formats {
namespace {

using namespace perfetto;
using protozero::pbf_writer;

constexpr std::uint32_t kSequenceId = 1;

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
    add_entry(interned, interned::kCategories, category_iid(static_cast<Kind>(kind)),
              to_string(static_cast<Kind>(kind)));
  for (std::uint64_t mode = 1; mode < kNumModes; ++mode)
    add_entry(interned, interned::kCategories, category_iid(static_cast<Mode>(mode)),
              to_string(static_cast<Mode>(mode)));
}

std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 0xCBF29CE484222325ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  return hash;
}

Lanes lanes_of(TrackKind kind) { return Lanes(kind == TrackKind::thread || kind == TrackKind::range); }

// Streams by their numbers, and below them ranges, threads and counters.
std::int32_t order_of(const Track& track) {
  constexpr std::int32_t kMost = 100'000'000;
  const std::int32_t number = std::clamp(track.stream, 0, kMost - 1);
  switch (track.kind) {
    case TrackKind::stream: return number;
    case TrackKind::range: return kMost + number;
    case TrackKind::thread: return 2 * kMost + number;
    case TrackKind::counter: return 3 * kMost + number;
  }
  return 0;
}

std::string text_of(const Track& track) {
  std::string text = fmt::format("{} of rank {}: {}", track.stream, track.rank, track.name);
  if (track.kind != TrackKind::stream) text += fmt::format(" ({})", to_string(track.kind));
  if (track.device >= 0) text += fmt::format(" of device {}", track.device);
  return text;
}

// The clock of the times in this file, and its wall clock, from the first rank that has them. A rank with another clock
// has its own reading, which our readers use.
void write_clock_of_trace(pbf_writer& packet, const Trace& block) {
  if (block.clocks.empty() || block.clocks.front().device_ns < 0 || block.clocks.front().unix_ns < 0) return;
  {
    pbf_writer usual(packet, packet::kDefaults);
    usual.add_uint32(defaults::kTimestampClock, clock_snapshot::kMonotonic);
  }
  pbf_writer snapshot(packet, packet::kClockSnapshot);
  const auto add = [&](std::uint32_t id, std::int64_t time_ns) {
    pbf_writer reading(snapshot, clock_snapshot::kClocks);
    reading.add_uint32(clock_snapshot::kClockId, id);
    reading.add_uint64(clock_snapshot::kTimestamp, static_cast<std::uint64_t>(time_ns));
  };
  add(clock_snapshot::kMonotonic, block.clocks.front().device_ns);
  add(clock_snapshot::kRealtime, block.clocks.front().unix_ns);
  snapshot.add_enum(clock_snapshot::kPrimary, clock_snapshot::kMonotonic);
}

// A base, since it has to exist before the packet's writer and outlive it.
struct PacketStream {
  pbf_writer stream;
};
// A packet at the end of `out`, as long as it is in scope.
class OpenPacket : private PacketStream, public pbf_writer {
 public:
  explicit OpenPacket(std::string& out) : PacketStream{pbf_writer(out)}, pbf_writer(stream, kTracePacket) {
    add_uint32(packet::kSequence, kSequenceId);
  }
};

// A packet with our message, whose one field is a message filled by `fill`.
template <class Fill>
void add_message(pbf_writer& packet, std::uint32_t field, Fill&& fill) {
  pbf_writer ours(packet, packet::kUnderlap);
  pbf_writer message(ours, field);
  fill(message);
}

}  // namespace

std::string PerfettoEncoder::encode(const Trace& block) {
  check_writable(block);
  out_.clear();
  begin_block(block);
  for (const ClockSnapshot& clock : block.clocks) write_clock(clock);
  write_metadata(block);
  write_groups(block);
  write_tracks(block);
  find_arrows(block);
  for (std::size_t i = 0; i < block.size(); ++i) write_slice(block, i, slice_uuids_[i]);
  for (const Mark& mark : block.marks) write_mark(mark);
  for (const CounterSample& sample : block.counters) write_counter(block, sample);
  write_flows(block);
  end_block();
  num_written_ += block.size();
  return std::move(out_);
}

void PerfettoEncoder::forget() { *this = PerfettoEncoder(); }

void PerfettoEncoder::begin_block(const Trace& block) {
  OpenPacket packet(out_);
  if (!state_cleared_) {
    packet.add_uint32(packet::kSequenceFlags, kStateCleared);
    std::string fixed;
    add_fixed_entries(fixed);
    packet.add_message(packet::kInternedData, fixed);
    write_clock_of_trace(packet, block);
    state_cleared_ = true;
  }
  pbf_writer ours(packet, packet::kUnderlap);
  ours.add_string(underlap_message::kSchema, fmt::format("{}{}", kSchemaFamily, kSchemaVersion));
  pbf_writer counts(ours, underlap_message::kBlockBegin);
  counts.add_uint64(1, block.size());
  counts.add_uint64(2, block.marks.size());
  counts.add_uint64(3, block.clocks.size());
  counts.add_uint32(4, 1);
  if (!block.counters.empty()) counts.add_uint64(5, block.counters.size());
  if (!block.flows.empty()) counts.add_uint64(6, block.flows.size());
}

void PerfettoEncoder::end_block() {
  {
    OpenPacket packet(out_);
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
  for (const auto& [key, value] : block.metadata) {
    const auto said = metadata_.find(key);
    if (said != metadata_.end() && said->second == value) continue;
    metadata_[key] = value;
    OpenPacket packet(out_);
    add_message(packet, underlap_message::kMetadata, [&](pbf_writer& entry) {
      entry.add_string(1, key);
      entry.add_string(2, value);
    });
  }
}

void PerfettoEncoder::write_groups(const Trace& block) {
  group_ids_.clear();
  group_members_.clear();
  for (const GroupRecord& group : block.groups) {
    const auto said = std::find(groups_.begin(), groups_.end(), group);
    const auto id = static_cast<std::uint64_t>(said - groups_.begin());
    group_ids_.push_back(id);
    group_members_.push_back(intern(fmt::format("{}", fmt::join(group.ranks, " "))));
    if (said != groups_.end()) continue;
    groups_.push_back(group);
    OpenPacket packet(out_);
    packet.add_uint32(packet::kSequenceFlags, kNeedsState);
    add_message(packet, underlap_message::kGroup, [&](pbf_writer& message) {
      const std::string_view purpose = name_of(group.purpose);
      message.add_uint64(1, id);
      message.add_string(2, purpose.data(), purpose.size());
      message.add_packed_sint32(3, group.ranks.begin(), group.ranks.end());
      if (group.name != kNoName) message.add_string(4, std::string(name_of(group.name)));
      if (group.description != kNoName) message.add_string(5, std::string(name_of(group.description)));
      if (group.num_ranks != 0) message.add_sint32(6, group.num_ranks);
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

// Viewers sort tracks that have no parent by name, which puts rank 10 before rank 2.
void PerfettoEncoder::write_ranks() {
  if (ranks_uuid_ != 0) return;
  ranks_uuid_ = unique_uuid("ranks");
  OpenPacket packet(out_);
  pbf_writer track(packet, packet::kTrackDescriptor);
  track.add_uint64(descriptor::kUuid, ranks_uuid_);
  track.add_string(descriptor::kName, "ranks");
  track.add_enum(descriptor::kChildOrdering, descriptor::kOrderExplicit);
}

void PerfettoEncoder::write_rank(std::int32_t rank) {
  if (rank_uuids_.contains(rank)) return;
  write_ranks();
  const std::uint64_t uuid = unique_uuid(fmt::format("rank {}", rank));
  rank_uuids_[rank] = uuid;
  OpenPacket packet(out_);
  pbf_writer track(packet, packet::kTrackDescriptor);
  track.add_uint64(descriptor::kUuid, uuid);
  track.add_uint64(descriptor::kParentUuid, ranks_uuid_);
  track.add_string(descriptor::kName, fmt::format("rank {}", rank));
  track.add_int32(descriptor::kSiblingOrderRank, rank);
  track.add_enum(descriptor::kChildOrdering, descriptor::kOrderExplicit);
  track.add_enum(descriptor::kSiblingMergeBehavior, descriptor::kMergeNone);
}

void PerfettoEncoder::write_lane(const Track& track, TrackState& state) {
  write_rank(track.rank);
  const std::size_t lane = state.uuids.size();
  const std::uint64_t uuid = unique_uuid(fmt::format("lane {} of stream {}", lane, text_of(track)));
  OpenPacket packet(out_);
  {
    pbf_writer row(packet, packet::kTrackDescriptor);
    row.add_uint64(descriptor::kUuid, uuid);
    row.add_uint64(descriptor::kParentUuid, lane == 0 ? rank_uuids_[track.rank] : state.uuids[0]);
    row.add_string(descriptor::kName, lane == 0 ? track.name : fmt::format("{} lane {}", track.name, lane));
    row.add_int32(descriptor::kSiblingOrderRank, lane == 0 ? order_of(track) : static_cast<std::int32_t>(lane));
    row.add_enum(descriptor::kChildOrdering, descriptor::kOrderExplicit);
    row.add_enum(descriptor::kSiblingMergeBehavior, descriptor::kMergeNone);
    if (track.kind == TrackKind::counter) row.add_message(descriptor::kCounter, std::string());
  }
  add_message(packet, underlap_message::kTrack, [&](pbf_writer& message) {
    message.add_uint64(1, uuid);
    message.add_sint32(2, track.rank);
    message.add_sint32(3, track.stream);
    message.add_string(4, track.name);
    if (track.kind != TrackKind::stream) message.add_string(5, std::string(to_string(track.kind)));
    if (track.device != -1) message.add_sint32(6, track.device);
  });
  state.uuids.push_back(uuid);
}

void PerfettoEncoder::write_tracks(const Trace& block) {
  std::vector<std::vector<std::size_t>> by_track(block.tracks.size());
  for (std::size_t i = 0; i < block.size(); ++i) by_track[block.track(i)].push_back(i);
  slice_uuids_.assign(block.size(), 0);
  for (std::size_t t = 0; t < block.tracks.size(); ++t) {
    const Track& track = block.tracks[t];
    const TrackKey key{track.rank, track.stream, track.name, track.kind, track.device};
    TrackState& state = tracks_.try_emplace(key, TrackState{lanes_of(track.kind), {}}).first->second;
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

void PerfettoEncoder::flush_event(std::int64_t time_ns, Shown shown) {
  pbf_writer stream(out_);
  pbf_writer packet(stream, kTracePacket);
  packet.add_uint64(packet::kTimestamp, static_cast<std::uint64_t>(time_ns));
  packet.add_uint32(packet::kSequence, kSequenceId);
  packet.add_uint32(packet::kSequenceFlags, kNeedsState);
  if (!interned_.empty()) packet.add_message(packet::kInternedData, interned_);
  packet.add_message(packet::kTrackEvent, event_);
  if (shown == Shown::to_viewers) {
    pbf_writer ours(packet, packet::kUnderlap);
    ours.add_uint32(underlap_message::kShown, 1);
  }
  interned_.clear();
  event_.clear();
}

void PerfettoEncoder::show_slice(std::uint64_t uuid, NameId name, std::int64_t start_ns, std::int64_t end_ns) {
  pbf_writer event(event_);
  event.add_enum(event::kType, event::kSliceBegin);
  event.add_uint64(event::kTrackUuid, uuid);
  event.add_uint64(event::kNameIid, name_iid(name));
  flush_event(start_ns, Shown::to_viewers);
  event.add_enum(event::kType, event::kSliceEnd);
  event.add_uint64(event::kTrackUuid, uuid);
  flush_event(end_ns, Shown::to_viewers);
}

// Arrows go forward in time, even if the source of a flow is later than its target.
void PerfettoEncoder::find_arrows(const Trace& block) {
  arrows_.clear();
  for (std::size_t i = 0; i < block.flows.size(); ++i) {
    const Flow& flow = block.flows[i];
    const std::uint64_t id = fnv1a(fmt::format("{} {} {}", block.start_ns()[flow.from], num_written_, i));
    const bool is_forward =
        std::pair(block.start_ns()[flow.from], flow.from) <= std::pair(block.start_ns()[flow.to], flow.to);
    arrows_.push_back({.slice = flow.from, .is_last = !is_forward, .id = id});
    arrows_.push_back({.slice = flow.to, .is_last = is_forward, .id = id});
  }
  std::ranges::stable_sort(arrows_, {}, &FlowEnd::slice);
}

void PerfettoEncoder::write_arrows(std::size_t slice) {
  const auto arrows = std::ranges::equal_range(arrows_, slice, {}, &FlowEnd::slice);
  if (arrows.empty()) return;
  pbf_writer event(event_);
  for (const FlowEnd& end : arrows)
    event.add_fixed64(end.is_last ? event::kTerminatingFlowIds : event::kFlowIds, end.id);
}

void PerfettoEncoder::show_wait(const Trace& block, std::size_t i, std::uint64_t uuid) {
  static const NameId kWait = intern("wait");
  static const NameId kTransfer = intern("transfer");
  const std::int64_t last_arrival_ns = block.communication(i)->last_arrival_ns;
  if (last_arrival_ns <= block.start_ns()[i] || last_arrival_ns >= block.end_ns(i)) return;
  show_slice(uuid, kWait, block.start_ns()[i], last_arrival_ns);
  show_slice(uuid, kTransfer, last_arrival_ns, block.end_ns(i));
}

// The end follows its begin immediately, except for slices that only viewers are shown. So a reader pairs them without
// a search and keeps the order of the slices.
void PerfettoEncoder::write_slice(const Trace& block, std::size_t i, std::uint64_t uuid) {
  const Slice slice = block.slice(i);
  const CommunicationRecord* record = block.communication(i);
  pbf_writer event(event_);
  event.add_enum(event::kType, event::kSliceBegin);
  event.add_uint64(event::kTrackUuid, uuid);
  if (slice.name != kNoName) event.add_uint64(event::kNameIid, name_iid(slice.name));
  write_tag(slice);
  write_attribution(slice.attribution);
  write_shape(slice.shape);
  if (record != nullptr) write_communication(*record);
  write_arrows(i);
  flush_event(slice.start_ns);

  if (record != nullptr && block.track_of(i).kind == TrackKind::stream) show_wait(block, i, uuid);
  event.add_enum(event::kType, event::kSliceEnd);
  event.add_uint64(event::kTrackUuid, uuid);
  flush_event(block.end_ns(i));
}

void PerfettoEncoder::write_marks_track(std::int32_t rank) {
  write_rank(rank);
  std::uint64_t& uuid = marks_uuids_[rank];
  if (uuid != 0) return;
  uuid = unique_uuid(fmt::format("marks of rank {}", rank));
  OpenPacket packet(out_);
  {
    pbf_writer row(packet, packet::kTrackDescriptor);
    row.add_uint64(descriptor::kUuid, uuid);
    row.add_uint64(descriptor::kParentUuid, rank_uuids_[rank]);
    row.add_string(descriptor::kName, "steps");
    row.add_int32(descriptor::kSiblingOrderRank, -1);  // above the streams
    row.add_enum(descriptor::kSiblingMergeBehavior, descriptor::kMergeNone);
  }
  add_message(packet, underlap_message::kMarksTrack, [&](pbf_writer& message) {
    message.add_uint64(1, uuid);
    message.add_sint32(2, rank);
  });
}

// Readers use the mark itself; viewers show the step between two marks.
void PerfettoEncoder::write_mark(const Mark& mark) {
  write_marks_track(mark.rank);
  const std::uint64_t uuid = marks_uuids_[mark.rank];
  const auto last = last_marks_.find(mark.rank);
  if (last != last_marks_.end() && last->second.block == mark.block && last->second.time_ns <= mark.time_ns)
    show_slice(uuid, intern(fmt::format("step {}", mark.step)), last->second.time_ns, mark.time_ns);
  last_marks_[mark.rank] = mark;
  pbf_writer event(event_);
  event.add_enum(event::kType, event::kInstant);
  event.add_uint64(event::kTrackUuid, uuid);
  event.add_string(event::kName, fmt::format("end of step {}", mark.step));
  annotate(Annotation::block, mark.block);
  annotate(Annotation::step, mark.step);
  flush_event(mark.time_ns);
}

void PerfettoEncoder::write_clock(const ClockSnapshot& clock) {
  OpenPacket packet(out_);
  add_message(packet, underlap_message::kClock, [&](pbf_writer& message) {
    message.add_sint32(1, clock.rank);
    message.add_sint64(2, clock.device_ns);
    message.add_sint64(3, clock.unix_ns);
  });
}

std::uint64_t PerfettoEncoder::track_uuid(const Track& track) {
  return tracks_.at({track.rank, track.stream, track.name, track.kind, track.device}).uuids.front();
}

void PerfettoEncoder::write_counter(const Trace& block, const CounterSample& sample) {
  pbf_writer event(event_);
  event.add_enum(event::kType, event::kCounter);
  event.add_uint64(event::kTrackUuid, track_uuid(block.tracks[sample.track]));
  event.add_double(event::kCounterValue, sample.value);
  flush_event(sample.time_ns);
}

// Consecutive flows of one kind share a message.
void PerfettoEncoder::write_flows(const Trace& block) {
  for (auto first = block.flows.begin(); first != block.flows.end();) {
    const auto last =
        std::find_if(first, block.flows.end(), [&](const Flow& flow) { return flow.kind != first->kind; });
    OpenPacket packet(out_);
    add_message(packet, underlap_message::kFlows, [&](pbf_writer& message) {
      message.add_string(1, std::string(to_string(first->kind)));
      protozero::packed_field_uint32 slices(message, 2);
      for (auto flow = first; flow != last; ++flow) {
        slices.add_element(flow->from);
        slices.add_element(flow->to);
      }
    });
    first = last;
  }
}

}  // namespace underlap::formats
