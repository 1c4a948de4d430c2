// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/perfetto/decoder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <protozero/pbf_reader.hpp>
#include <stdexcept>

#include "profiler/formats/format.hpp"
#include "profiler/formats/perfetto/fields.hpp"
#include "profiler/formats/perfetto/packets.hpp"
#include "profiler/trace/saturating.hpp"

namespace underlap::formats {
namespace {

using namespace perfetto;
using protozero::data_view;
using protozero::pbf_reader;
using protozero::pbf_wire_type;

constexpr std::uint32_t kSkippedSlice = ~std::uint32_t{0};  // in the place of one that was skipped

// Numbers and texts of a small message of ours, by field. A track with uuid 7, rank 0 and
// stream 1 is {1: 7, 2: 0, 3: 2, 4: "dp_comm"}: signed numbers are zigzag.
struct MessageFields {
  std::array<bool, 8> has_number{};
  std::array<std::uint64_t, 8> numbers{};
  std::array<std::string_view, 8> texts{};
};

MessageFields fields_of(data_view message) {
  MessageFields fields;
  pbf_reader reader(message);
  while (reader.next()) {
    const std::uint32_t tag = reader.tag();
    if (tag < fields.numbers.size() && reader.wire_type() == pbf_wire_type::varint) {
      fields.numbers[tag] = reader.get_uint64();
      fields.has_number[tag] = true;
    } else if (tag < fields.texts.size() && reader.wire_type() == pbf_wire_type::length_delimited) {
      const data_view text = reader.get_view();
      fields.texts[tag] = {text.data(), text.size()};
    } else {
      reader.skip();
    }
  }
  return fields;
}

std::int32_t zigzag32(std::uint64_t value) { return static_cast<std::int32_t>(protozero::decode_zigzag64(value)); }

}  // namespace

struct PerfettoDecoder::Packet {
  std::uint64_t sequence = 0;
  std::uint64_t flags = 0;
  std::int64_t time_ns = 0;
  std::optional<data_view> event;
  std::optional<data_view> interned;
  std::optional<data_view> ours;
  bool is_descriptor = false;

  // {timestamp: 1200, trusted_packet_sequence_id: 1, sequence_flags: 2, track_event: {...}}
  explicit Packet(data_view message) {
    pbf_reader reader(message);
    while (reader.next()) switch (reader.tag_and_type()) {
        case number(packet::kTimestamp): time_ns = reader.get_int64(); break;
        case number(packet::kSequence): sequence = reader.get_uint64(); break;
        case number(packet::kSequenceFlags): flags = reader.get_uint64(); break;
        case bytes(packet::kTrackEvent): event = reader.get_view(); break;
        case bytes(packet::kInternedData): interned = reader.get_view(); break;
        case bytes(packet::kUnderlap): ours = reader.get_view(); break;
        case bytes(packet::kTrackDescriptor):
          is_descriptor = true;
          reader.skip();
          break;
        default: reader.skip();
      }
  }
};

struct PerfettoDecoder::Event {
  std::uint64_t type = 0;
  std::uint64_t uuid = 0;
  std::uint64_t name_iid = 0;
  double counter_value = 0;
  std::vector<std::uint64_t> categories;
  std::vector<Value> values;

  // {type: 1, track_uuid: 7, name_iid: 3, category_iids: [2, 6], debug_annotations: [{...}]}
  // Lists keep their room from event to event.
  void read(data_view message) {
    type = uuid = name_iid = 0;
    counter_value = 0;
    categories.clear();
    values.clear();
    pbf_reader reader(message);
    while (reader.next()) switch (reader.tag_and_type()) {
        case number(event::kType): type = reader.get_uint64(); break;
        case number(event::kTrackUuid): uuid = reader.get_uint64(); break;
        case number(event::kNameIid): name_iid = reader.get_uint64(); break;
        case number(event::kCategoryIids): categories.push_back(reader.get_uint64()); break;
        case fixed64(event::kCounterValue): counter_value = reader.get_double(); break;
        case bytes(event::kAnnotations): values.push_back(value_of(reader.get_view())); break;
        default: reader.skip();
      }
  }
};

PerfettoDecoder::PerfettoDecoder(std::string origin) : origin_(std::move(origin)), event_(std::make_unique<Event>()) {}
PerfettoDecoder::~PerfettoDecoder() = default;

void PerfettoDecoder::skip(std::string_view reason, std::int64_t count) {
  trace_.import.skipped[std::string(reason)] += count;
}

void PerfettoDecoder::add_packet(data_view message, const char* begin) {
  packet_begin_ = begin;
  packet_end_ = message.data() + message.size();
  try {
    apply(Packet(message));
  } catch (const protozero::exception&) {
    skip("malformed packet");
  }
}

void PerfettoDecoder::apply(const Packet& packet) {
  PerfettoSequence& sequence = sequences_[packet.sequence];
  if (packet.flags & kStateCleared) {
    sequence = PerfettoSequence();
    sequence.valid = true;
  }
  if ((packet.flags & kNeedsState) && !sequence.valid) return skip("packet without its interned data");
  if (packet.interned) add_interned(*packet.interned, sequence);
  if (packet.event && packet.ours && is_for_viewers(*packet.ours)) return;
  if (packet.ours) add_ours(*packet.ours, sequence);
  if (packet.event) add_event(packet, sequence);
  if (!packet.interned && !packet.ours && !packet.event && !packet.is_descriptor)
    skip("packet not written by Underlap");
}

bool PerfettoDecoder::is_for_viewers(data_view message) {
  pbf_reader reader(message);
  return reader.next(underlap_message::kShown, pbf_wire_type::varint) && reader.get_uint64() != 0;
}

void PerfettoDecoder::add_interned(data_view message, PerfettoSequence& sequence) {
  pbf_reader reader(message);
  while (reader.next()) switch (reader.tag_and_type()) {
      case bytes(interned::kCategories):
      case bytes(interned::kEventNames):
      case bytes(interned::kAnnotationNames):
      case bytes(interned::kStringValues): {
        const std::uint32_t field = reader.tag();
        add_entry(field, reader.get_view(), sequence);
        break;
      }
      default: reader.skip();
    }
}

// event_names: {iid: 3, name: "gemm_fprop"}
void PerfettoDecoder::add_entry(std::uint32_t field, data_view message, PerfettoSequence& sequence) {
  const MessageFields fields = fields_of(message);
  const std::uint64_t iid = fields.numbers[interned::kIid];
  const std::string_view text = fields.texts[interned::kText];
  if (field == interned::kCategories) sequence.categories[iid] = PerfettoWord(text);
  if (field == interned::kEventNames) sequence.names[iid] = intern(text);
  if (field == interned::kStringValues) sequence.strings[iid] = PerfettoWord(text);
  if (field != interned::kAnnotationNames) return;
  if (const auto annotation = kAnnotations.find(text)) sequence.annotations[iid] = *annotation;
}

void PerfettoDecoder::add_ours(data_view message, PerfettoSequence& sequence) {
  bool ends = false;
  std::optional<std::uint32_t> checksum;
  pbf_reader reader(message);
  while (reader.next()) switch (reader.tag_and_type()) {
      case bytes(underlap_message::kSchema): check_schema(reader.get_string()); break;
      case bytes(underlap_message::kBlockBegin): begin_block(reader.get_view()); break;
      case number(underlap_message::kBlockEnd): ends = reader.get_uint64() != 0; break;
      case fixed32(underlap_message::kChecksum): checksum = reader.get_fixed32(); break;
      case bytes(underlap_message::kMetadata): add_metadata(reader.get_view()); break;
      case bytes(underlap_message::kGroup): add_group(reader.get_view(), sequence); break;
      case bytes(underlap_message::kTrack): add_track(reader.get_view()); break;
      case bytes(underlap_message::kMarksTrack): add_marks_track(reader.get_view()); break;
      case bytes(underlap_message::kFlows): add_flows(reader.get_view()); break;
      case bytes(underlap_message::kClock): add_clock(reader.get_view()); break;
      default: reader.skip();
    }
  if (ends) end_block(checksum);
}

void PerfettoDecoder::check_schema(const std::string& schema) {
  if (!is_schema_of(schema, kSchemaFamily, kSchemaVersion, origin_)) return skip("packet of an unknown schema");
  ours_ = true;
}

// {1: 120, 2: 3, 3: 1, 4: 1, 6: 40}: 120 slices, 3 marks, 1 clock reading, a checksum at the end, 40 flows
void PerfettoDecoder::begin_block(data_view message) {
  cut_block();
  const MessageFields fields = fields_of(message);
  // A block holds at least a byte of each: more than the bytes from here on is no count of ours.
  const auto count = [&](std::size_t field) {
    return static_cast<std::int64_t>(std::min<std::uint64_t>(fields.numbers[field], kMostBytes));
  };
  block_ = {.open = true,
            .has_checksum = fields.numbers[4] != 0,
            .begin = packet_begin_,
            .slices = count(1),
            .marks = count(2),
            .clocks = count(3),
            .counters = count(5),
            .flows = count(6),
            .slice_indices = {}};
  make_room();
}

// For what the block announces: columns that grow by doubling are copied, and the pages of every copy are new. What a
// damaged block claims takes addresses, and no memory.
void PerfettoDecoder::make_room() {
  constexpr std::int64_t kMost = std::int64_t{1} << 22;
  const auto wanted = [&](std::size_t size, std::int64_t more) {
    return size + static_cast<std::size_t>(std::min(more, kMost));
  };
  const std::size_t slices = wanted(trace_.size(), block_.slices);
  if (slices > trace_.start_ns().capacity()) trace_.reserve(std::max(slices, 2 * trace_.size()));
  const std::size_t flows = wanted(trace_.flows.size(), block_.flows);
  if (flows > trace_.flows.capacity()) trace_.flows.reserve(std::max(flows, 2 * trace_.flows.size()));
  if (block_.flows > 0) block_.slice_indices.reserve(wanted(0, block_.slices));
}

void PerfettoDecoder::end_block(std::optional<std::uint32_t> checksum) {
  if (!block_.open) return skip("end of a block whose start is missing");
  const std::string_view checked(block_.begin, static_cast<std::size_t>(packet_end_ - block_.begin) - sizeof *checksum);
  if (checksum && *checksum != checksum_of(checked)) skip("block whose checksum does not match");
  if (!checksum && block_.has_checksum) skip("block whose checksum is missing");
  count_missing("missing from a block");
}

// The end of a block that was not seen: a later one begins, or the file ends.
void PerfettoDecoder::cut_block() {
  if (block_.open) skip("truncated block");
  count_missing("lost in a truncated block");
}

// What the block announced and did not give. A slice that could not be used was given, and has its own reason.
void PerfettoDecoder::count_missing(const std::string& where) {
  std::int64_t num_open = 0;
  for (auto& [uuid, track] : tracks_) {
    num_open += static_cast<std::int64_t>(track.open.size());
    track.open.clear();
  }
  if (num_open > 0) skip("slice without an end", num_open);
  const auto count = [&](const char* what, std::int64_t missing) {
    if (missing > 0) skip(fmt::format("{} {}", what, where), missing);
    if (missing < 0) skip(fmt::format("{} that their block did not declare", what), -missing);
  };
  count("slices", block_.slices - num_open);
  count("marks", block_.marks);
  count("clock readings", block_.clocks);
  count("counter samples", block_.counters);
  count("flows", block_.flows);
  block_ = {};
}

void PerfettoDecoder::add_metadata(data_view message) {
  const MessageFields fields = fields_of(message);
  trace_.metadata.insert_or_assign(std::string(fields.texts[1]), std::string(fields.texts[2]));
}

// {1: 4, 3: [0, 2], 4: "dp_gather", 6: 4}: group 4 of ranks 0 and 1, of 2 in all
void PerfettoDecoder::add_group(data_view message, PerfettoSequence& sequence) {
  const MessageFields fields = fields_of(message);
  GroupRecord group{.purpose = intern(fields.texts[2]),
                    .ranks = {},
                    .name = intern(fields.texts[4]),
                    .description = intern(fields.texts[5]),
                    .num_ranks = zigzag32(fields.numbers[6])};
  pbf_reader reader(message);
  while (reader.next(3, pbf_wire_type::length_delimited)) {
    const auto ranks = reader.get_packed_sint32();
    group.ranks.insert(group.ranks.end(), ranks.begin(), ranks.end());
  }
  sequence.groups[fields.numbers[1]] = trace_.add_group(group);
}

void PerfettoDecoder::add_track(data_view message) {
  const MessageFields fields = fields_of(message);
  const std::string_view word = fields.texts[5];
  const std::optional<TrackKind> kind = word.empty() ? TrackKind::stream : track_kind_from(word);
  if (!kind) return skip("track of an unknown kind");
  const Track track{.rank = zigzag32(fields.numbers[2]),
                    .stream = zigzag32(fields.numbers[3]),
                    .name = std::string(fields.texts[4]),
                    .kind = *kind,
                    .device = fields.has_number[6] ? zigzag32(fields.numbers[6]) : -1};
  tracks_[fields.numbers[1]].track = trace_.add_track(track);
}

void PerfettoDecoder::add_marks_track(data_view message) {
  const MessageFields fields = fields_of(message);
  tracks_[fields.numbers[1]].marks_rank = zigzag32(fields.numbers[2]);
}

// {1: 0, 2: 2400, 3: 3558000000000000000}: rank 0, 1200 ns on its device, 1779000000000000000 ns in Unix time
void PerfettoDecoder::add_clock(data_view message) {
  const MessageFields fields = fields_of(message);
  const ClockSnapshot clock{.rank = zigzag32(fields.numbers[1]),
                            .device_ns = protozero::decode_zigzag64(fields.numbers[2]),
                            .unix_ns = protozero::decode_zigzag64(fields.numbers[3])};
  --block_.clocks;
  if (!is_time(clock.device_ns) || !is_time(clock.unix_ns)) return skip("clock reading whose time overflows");
  trace_.clocks.push_back(clock);
}

void PerfettoDecoder::add_event(const Packet& packet, const PerfettoSequence& sequence) {
  Event& event = *event_;
  event.read(*packet.event);
  const auto found = tracks_.find(event.uuid);
  if (found == tracks_.end()) return skip("event on a track not written by Underlap");
  EventTrack& track = found->second;
  if (track.marks_rank && event.type == event::kInstant)
    add_mark(event, *track.marks_rank, sequence, packet.time_ns);
  else if (!track.track)
    skip("event on a track not written by Underlap");
  else if (event.type == event::kSliceBegin)
    begin_slice(event, track, sequence, packet.time_ns);
  else if (event.type == event::kSliceEnd)
    end_slice(track, packet.time_ns);
  else if (event.type == event::kCounter)
    add_counter(event, *track.track, packet.time_ns);
  else
    skip("event that is not a slice");
}

void PerfettoDecoder::add_mark(const Event& event, std::int32_t rank, const PerfettoSequence& sequence,
                               std::int64_t time_ns) {
  Mark mark{.rank = rank, .block = 0, .step = 0, .time_ns = time_ns};
  bool fits = true;
  for (const Value& value : event.values) {
    const Annotation* const name = sequence.annotations.find(value.name_iid);
    if (!name) continue;
    if (*name == Annotation::block) fits &= narrow(value.number, mark.block);
    if (*name == Annotation::step) fits &= narrow(value.number, mark.step);
  }
  --block_.marks;
  if (!fits) return skip("mark with a number out of range");
  if (!is_time(time_ns)) return skip("mark whose time overflows");
  trace_.marks.push_back(mark);
  ++trace_.import.events;
}

void PerfettoDecoder::add_counter(const Event& event, std::uint32_t track, std::int64_t time_ns) {
  --block_.counters;
  if (!is_time(time_ns)) return skip("counter sample whose time overflows");
  trace_.counters.push_back({.track = track, .time_ns = time_ns, .value = event.counter_value});
  ++trace_.import.events;
}

// {1: "dependency", 2: [3, 8, 4, 9]}: from slice 3 to 8, and from 4 to 9. These are indices in the block, so flows are
// unusable if a slice of the block is missing.
void PerfettoDecoder::add_flows(data_view message) {
  const std::optional<FlowKind> kind = flow_kind_from(fields_of(message).texts[1]);
  pbf_reader reader(message);
  while (reader.next(2, pbf_wire_type::length_delimited)) {
    const auto places = reader.get_packed_uint32();
    for (auto place = places.begin(); place != places.end(); ++place) {
      const std::uint32_t from = *place;
      if (++place == places.end()) return skip("flow without a target");
      --block_.flows;
      const std::uint32_t to = *place;
      if (!kind)
        skip("flow of an unknown kind");
      else if (block_.slices != 0 || from >= block_.slice_indices.size() || to >= block_.slice_indices.size())
        skip("flow in a block with missing slices");
      else if (block_.slice_indices[from] == kSkippedSlice || block_.slice_indices[to] == kSkippedSlice)
        skip("flow of an unusable slice");
      else
        trace_.flows.push_back({block_.slice_indices[from], block_.slice_indices[to], *kind});
    }
  }
}

void PerfettoDecoder::begin_slice(const Event& event, EventTrack& track, const PerfettoSequence& sequence,
                                  std::int64_t time_ns) {
  PerfettoSlice builder(sequence);
  builder.slice.track = *track.track;
  builder.slice.start_ns = time_ns;
  builder.slice.name = sequence.name(event.name_iid);
  for (const std::uint64_t iid : event.categories) builder.add_category(iid);
  for (const Value& value : event.values) builder.add(value);
  builder.finish();
  track.open.push_back({builder.slice, std::move(builder.communication), builder.fault});
}

void PerfettoDecoder::end_slice(EventTrack& track, std::int64_t time_ns) {
  std::vector<OpenSlice>& open = track.open;
  if (open.empty()) return skip("end of a slice without a start");
  OpenSlice ended = std::move(open.back());
  open.pop_back();
  --block_.slices;
  if (block_.flows > 0) block_.slice_indices.push_back(kSkippedSlice);
  Slice& slice = ended.slice;
  if (!is_time(slice.start_ns) || !is_time(time_ns)) return skip("slice whose time overflows");
  slice.duration_ns = time_ns - slice.start_ns;
  if (slice.duration_ns < 0) return skip("slice that ends before it starts");
  if (!ended.fault.empty()) return skip(ended.fault);
  if (ended.communication)
    trace_.add(slice, std::move(*ended.communication));
  else
    trace_.add(slice);
  if (block_.flows > 0) block_.slice_indices.back() = static_cast<std::uint32_t>(trace_.size() - 1);
  ++trace_.import.events;
}

Trace PerfettoDecoder::finish() {
  if (!ours_)
    throw std::invalid_argument(fmt::format(
        "{}: a Perfetto trace not written by Underlap (it has no Underlap packet); give a trace of `underlap run`",
        origin_));
  cut_block();
  return std::move(trace_);
}

}  // namespace underlap::formats
