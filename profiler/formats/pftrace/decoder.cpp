// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/pftrace/decoder.hpp"

#include <algorithm>
#include <protozero/pbf_reader.hpp>

#include "profiler/formats/perfetto/packets.hpp"
#include "profiler/formats/pftrace/arguments.hpp"
#include "profiler/formats/pftrace/fields.hpp"
#include "profiler/formats/pftrace/unpack.hpp"

namespace underlap::formats::pftrace {
namespace {

using perfetto::bytes;
using perfetto::fixed64;
using perfetto::number;
using protozero::data_view;
using protozero::pbf_reader;

std::string_view text_of(data_view view) { return {view.data(), view.size()}; }

// Numbers of a field that may be packed.
template <class Take>
void take_numbers(pbf_reader& reader, Take&& take) {
  if (reader.wire_type() == protozero::pbf_wire_type::varint) return take(reader.get_uint64());
  for (const std::uint64_t value : reader.get_packed_uint64()) take(value);
}

// {x: 132, y: 1, z: 1}
std::array<std::uint32_t, 3> size_of(data_view message) {
  std::array<std::uint32_t, 3> size{};
  pbf_reader reader(message);
  while (reader.next()) {
    const std::uint32_t tag = reader.tag();
    if (1 <= tag && tag <= size.size() && reader.wire_type() == protozero::pbf_wire_type::varint)
      size.at(tag - 1) = static_cast<std::uint32_t>(reader.get_uint64());
    else
      reader.skip();
  }
  return size;
}

// Two numbers or texts of a small message, by field.
struct Pair {
  std::uint64_t first_number = 0;
  std::string_view first, second, third;
};

Pair pair_of(data_view message) {
  Pair pair;
  pbf_reader reader(message);
  while (reader.next()) switch (reader.tag_and_type()) {
      case number(1): pair.first_number = reader.get_uint64(); break;
      case bytes(1): pair.first = text_of(reader.get_view()); break;
      case bytes(2): pair.second = text_of(reader.get_view()); break;
      case bytes(3): pair.third = text_of(reader.get_view()); break;
      default: reader.skip();
    }
  return pair;
}

}  // namespace

struct Decoder::Packet {
  std::uint64_t sequence = 0;
  std::uint64_t flags = 0;
  bool previous_dropped = false;
  std::optional<std::uint64_t> timestamp, clock;
  std::optional<data_view> event, stage, interned, defaults, descriptor, snapshot, packed, packed_zstd;

  // {timestamp: 1200, trusted_packet_sequence_id: 1, sequence_flags: 2, track_event: {...}}
  explicit Packet(data_view message) {
    pbf_reader reader(message);
    while (reader.next()) switch (reader.tag_and_type()) {
        case number(perfetto::packet::kTimestamp): timestamp = reader.get_uint64(); break;
        case number(packet::kTimestampClock): clock = reader.get_uint64(); break;
        case number(perfetto::packet::kSequence): sequence = reader.get_uint64(); break;
        case number(perfetto::packet::kSequenceFlags): flags = reader.get_uint64(); break;
        case number(packet::kPreviousDropped): previous_dropped = reader.get_uint64() != 0; break;
        case bytes(perfetto::packet::kTrackEvent): event = reader.get_view(); break;
        case bytes(packet::kGpuRenderStage): stage = reader.get_view(); break;
        case bytes(perfetto::packet::kInternedData): interned = reader.get_view(); break;
        case bytes(perfetto::packet::kDefaults): defaults = reader.get_view(); break;
        case bytes(perfetto::packet::kTrackDescriptor): descriptor = reader.get_view(); break;
        case bytes(perfetto::packet::kClockSnapshot): snapshot = reader.get_view(); break;
        case bytes(packet::kCompressed): packed = reader.get_view(); break;
        case bytes(packet::kZstdCompressed): packed_zstd = reader.get_view(); break;
        default: reader.skip();
      }
  }
};

struct Decoder::EventFields {
  std::uint64_t type = 0;
  std::optional<std::uint64_t> track;
  NameId name = kNoName;
  NameId category = kNoName;
  double value = 0;
  bool has_value = false;
};

void Decoder::add_packet(data_view message) {
  try {
    apply(Packet(message));
  } catch (const protozero::exception&) {
    skip("malformed packet");
  }
}

void Decoder::apply(const Packet& packet) {
  if (packet.packed || packet.packed_zstd) return add_packed(packet);
  constexpr std::size_t kMostSequences = std::size_t{1} << 18;
  if (sequences_.size() >= kMostSequences && !sequences_.contains(packet.sequence))
    return skip("packet after too many packet sequences");
  Sequence& sequence = sequences_[packet.sequence];
  if (packet.flags & perfetto::kStateCleared) {
    sequence = Sequence();
    sequence.is_valid = true;
  } else if (packet.previous_dropped) {
    sequence.is_valid = false;
  }
  if (packet.snapshot) clocks_.add_snapshot(*packet.snapshot, packet.sequence);
  if (packet.defaults) set_defaults(*packet.defaults, sequence);
  std::optional<std::int64_t> time;
  if (packet.timestamp)
    time = clocks_.time_ns(*packet.timestamp, packet.clock.value_or(sequence.clock.value_or(clock::kBoottime)),
                           packet.sequence);
  if (packet.descriptor) add_descriptor(*packet.descriptor);
  if ((packet.flags & perfetto::kNeedsState) && !sequence.is_valid) return skip("packet without its interned data");
  if (packet.interned) add_interned(*packet.interned, sequence);
  if (!packet.event && !packet.stage) return;
  ++events_.num_events;
  if (!time) return skip(packet.timestamp ? "time on an unknown clock, or overflowing" : "event without a time");
  if (packet.event) add_event(*packet.event, sequence, *time);
  if (packet.stage) add_stage(*packet.stage, sequence, *time);
}

void Decoder::add_packed(const Packet& packet) {
  if (is_inside_packed_) return skip("compressed packet in a compressed packet");
  constexpr int kPacketsPerCheck = 1000;
  const Unpacked inner = packet.packed ? unpack_zlib(*packet.packed, left_bytes_, check_)
                                       : unpack_zstd(*packet.packed_zstd, left_bytes_, check_);
  left_bytes_ -= inner.bytes.size();
  const char* at = inner.bytes.data();
  const char* const end = at + inner.bytes.size();
  is_inside_packed_ = true;
  data_view message;
  for (int count = 0; at != end && take_packet(at, end, message) == NextPacket::whole; ++count) {
    if (count % kPacketsPerCheck == 0) check_();
    add_packet(message);
  }
  is_inside_packed_ = false;
  if (at != end || !inner.is_whole) skip("compressed packet that is truncated, corrupt or too large");
}

void Decoder::set_defaults(data_view message, Sequence& sequence) {
  pbf_reader reader(message);
  while (reader.next()) switch (reader.tag_and_type()) {
      case number(perfetto::defaults::kTimestampClock): sequence.clock = reader.get_uint64(); break;
      case bytes(defaults::kTrackEvent): {
        pbf_reader of_events = reader.get_message();
        while (of_events.next(defaults::kTrackUuid, protozero::pbf_wire_type::varint))
          sequence.track = of_events.get_uint64();
        break;
      }
      default: reader.skip();
    }
}

// event_names: {iid: 3, name: "aten::mm"}
void Decoder::add_interned(data_view message, Sequence& sequence) {
  pbf_reader reader(message);
  const auto take = [&](ById<NameId>& into) {
    const Pair entry = pair_of(reader.get_view());
    into[entry.first_number] = intern(entry.third.empty() ? entry.second : entry.third);
  };
  const auto take_name = [&](ById<NameId>& into) {
    const Pair entry = pair_of(reader.get_view());
    into[entry.first_number] = intern(entry.second);
  };
  while (reader.next()) switch (reader.tag_and_type()) {
      case bytes(perfetto::interned::kCategories): take_name(sequence.categories); break;
      case bytes(perfetto::interned::kEventNames): take_name(sequence.names); break;
      case bytes(perfetto::interned::kAnnotationNames): take_name(sequence.keys); break;
      case bytes(perfetto::interned::kStringValues): take_name(sequence.strings); break;
      case bytes(interned::kGpuSpecifications): take_name(sequence.stages); break;
      case bytes(interned::kKernels): take(sequence.kernels); break;
      default: reader.skip();
    }
}

std::uint32_t Decoder::track_of(std::uint64_t uuid) {
  const auto [found, is_new] = tracks_.try_emplace(uuid, static_cast<std::uint32_t>(events_.tracks.size()));
  if (is_new) events_.tracks.push_back({.uuid = uuid});
  return found->second;
}

// {uuid: 4, parent_uuid: 3, thread: {pid: 0, tid: 7, thread_name: "stream 7 "}}
void Decoder::add_descriptor(data_view message) {
  Track track;
  pbf_reader reader(message);
  const auto take_owner = [&](std::uint32_t name_field) {
    pbf_reader owner = reader.get_message();
    while (owner.next()) {
      const std::uint32_t field = owner.tag_and_type();
      if (field == number(descriptor::kPid))
        track.pid = static_cast<std::int32_t>(owner.get_uint64());
      else if (field == number(descriptor::kTid) && track.is_thread)
        track.tid = static_cast<std::int64_t>(owner.get_uint64());
      else if (field == bytes(name_field) && track.name == kNoName)
        track.name = intern(text_of(owner.get_view()));
      else
        owner.skip();
    }
  };
  while (reader.next()) switch (reader.tag_and_type()) {
      case number(perfetto::descriptor::kUuid): track.uuid = reader.get_uint64(); break;
      case number(perfetto::descriptor::kParentUuid): track.parent = reader.get_uint64(); break;
      case bytes(perfetto::descriptor::kName):
      case bytes(descriptor::kStaticName): track.name = intern(text_of(reader.get_view())); break;
      case bytes(descriptor::kProcess): take_owner(descriptor::kProcessName); break;
      case bytes(descriptor::kThread):
        track.is_thread = true;
        take_owner(descriptor::kThreadName);
        break;
      default: reader.skip();
    }
  events_.tracks[track_of(track.uuid)] = track;
}

std::uint32_t Decoder::add(const Arguments& arguments) {
  events_.arguments.push_back(arguments);
  finish_arguments(events_.arguments.back());
  return static_cast<std::uint32_t>(events_.arguments.size() - 1);
}

// {type: 1, track_uuid: 7, name_iid: 3, category_iids: [2], debug_annotations: [{...}], flow_ids: [31]}
void Decoder::add_event(data_view message, const Sequence& sequence, std::int64_t time_ns) {
  EventFields fields;
  Arguments arguments;
  std::vector<std::int64_t> flows, launches;
  const auto add_flow = [&](std::uint64_t id) { flows.push_back(static_cast<std::int64_t>(id)); };
  pbf_reader reader(message);
  while (reader.next()) switch (reader.tag_and_type()) {
      case number(perfetto::event::kType): fields.type = reader.get_uint64(); break;
      case number(perfetto::event::kTrackUuid): fields.track = reader.get_uint64(); break;
      case number(perfetto::event::kNameIid): fields.name = Sequence::name(sequence.names, reader.get_uint64()); break;
      case bytes(perfetto::event::kName): fields.name = intern(text_of(reader.get_view())); break;
      case number(perfetto::event::kCategoryIids):
      case bytes(perfetto::event::kCategoryIids):
        take_numbers(reader, [&](std::uint64_t iid) {
          if (fields.category == kNoName) fields.category = Sequence::name(sequence.categories, iid);
        });
        break;
      case bytes(event::kCategories): fields.category = intern(text_of(reader.get_view())); break;
      case bytes(perfetto::event::kAnnotations): add_annotation(reader.get_view(), sequence, arguments); break;
      case fixed64(perfetto::event::kFlowIds):
      case fixed64(perfetto::event::kTerminatingFlowIds): add_flow(reader.get_fixed64()); break;
      case bytes(perfetto::event::kFlowIds):
      case bytes(perfetto::event::kTerminatingFlowIds):
        for (const std::uint64_t id : reader.get_packed_fixed64()) add_flow(id);
        break;
      case bytes(event::kGpuCorrelation): {
        pbf_reader ids = reader.get_message();
        while (ids.next())
          if (ids.tag() == 1 && ids.wire_type() != protozero::pbf_wire_type::fixed64)
            take_numbers(ids, [&](std::uint64_t id) { launches.push_back(static_cast<std::int64_t>(id)); });
          else
            ids.skip();
        break;
      }
      case fixed64(perfetto::event::kCounterValue):
        fields.value = reader.get_double();
        fields.has_value = true;
        break;
      case number(event::kCounterInteger):
        fields.value = static_cast<double>(reader.get_int64());
        fields.has_value = true;
        break;
      default: reader.skip();
    }
  Event event{.time_ns = time_ns,
              .track = track_of(fields.track.value_or(sequence.track.value_or(0))),
              .name = fields.name,
              .category = fields.category};
  switch (fields.type) {
    case perfetto::event::kSliceBegin: {
      const auto index = static_cast<std::uint32_t>(events_.events.size());
      for (const std::int64_t id : flows) events_.flows.push_back({id, index});
      for (const std::int64_t id : launches) events_.launches.push_back({id, index});
      if (!arguments.is_empty) event.arguments = add(arguments);
      return events_.events.push_back(event);
    }
    case perfetto::event::kSliceEnd: event.type = EventType::end; return events_.events.push_back(event);
    case perfetto::event::kCounter:
      if (!fields.has_value) return skip("counter without a value");
      event.type = EventType::counter;
      event.arguments = static_cast<std::uint32_t>(events_.values.size());
      events_.values.push_back(fields.value);
      return events_.events.push_back(event);
    case perfetto::event::kInstant: return;
    default: return skip("event that is neither a slice nor a counter");
  }
}

// {name: "stream", int_value: 7}
void Decoder::add_annotation(data_view message, const Sequence& sequence, Arguments& arguments) {
  NameId key = kNoName;
  pbf_reader reader(message);
  std::string_view text;
  while (reader.next()) switch (reader.tag_and_type()) {
      case number(perfetto::annotation::kNameIid): key = Sequence::name(sequence.keys, reader.get_uint64()); break;
      case bytes(annotation::kName): text = text_of(reader.get_view()); break;
      default: reader.skip();
    }
  if (text.empty()) text = name_of(key);
  if (!is_used_argument(text)) return;
  value_.clear();
  is_too_long_ = false;
  const bool has_value = append_value(message, sequence, 0);
  if (is_too_long_) return skip("argument that is too long");
  if (has_value) take_argument(arguments, text, value_);
}

void Decoder::append(std::string_view text) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 20;
  is_too_long_ = is_too_long_ || text.size() > kMostBytes - value_.size();
  if (!is_too_long_) value_ += text;
}

// An array may refer to the same text many times, and so may many arrays.
void Decoder::append_item(std::string_view interned) {
  if (interned.size() > left_bytes_) is_too_long_ = true;
  if (is_too_long_) return;
  left_bytes_ -= interned.size();
  append(interned);
}

// Appends the value to `value_`: a number, a text, or "[132, 1, 1]". Returns whether there is one. A value that is too
// long is cut.
bool Decoder::append_value(data_view message, const Sequence& sequence, int depth) {
  constexpr int kMostDepth = 4;
  std::size_t num_items = 0;
  bool is_known = false;
  pbf_reader reader(message);
  while (reader.next()) switch (reader.tag_and_type()) {
      case number(annotation::kBool):
      case number(annotation::kUint): append(std::to_string(reader.get_uint64())), is_known = true; break;
      case number(perfetto::annotation::kInt): append(std::to_string(reader.get_int64())), is_known = true; break;
      case bytes(annotation::kString): append(text_of(reader.get_view())), is_known = true; break;
      case number(perfetto::annotation::kStringIid): {
        const std::string_view text = name_of(Sequence::name(sequence.strings, reader.get_uint64()));
        if (depth > 0 || is_known)
          append_item(text);
        else
          append(text);
        is_known = true;
        break;
      }
      case bytes(perfetto::annotation::kArrayValues): {
        append(num_items++ == 0 ? "[" : ", ");
        const data_view item = reader.get_view();
        if (depth < kMostDepth) append_value(item, sequence, depth + 1);
        break;
      }
      default: reader.skip();
    }
  if (num_items > 0) append("]");
  return is_known || num_items > 0;
}

// {event_id: 3, duration: 350000, gpu_id: 0, hw_queue_iid: 100, stage_iid: 1, name_iid: 5, kernel_iid: 1,
//  launch: {grid: {x: 132, y: 1, z: 1}, workgroup: {...}}, extra_data: [{name: "stream id", value: "7"}]}
void Decoder::add_stage(data_view message, const Sequence& sequence, std::int64_t time_ns) {
  RenderStage stage{.start_ns = time_ns};
  Arguments arguments;
  NameId kernel = kNoName;
  std::int64_t gpu = -1;
  std::uint64_t duration = 0;
  pbf_reader reader(message);
  while (reader.next()) switch (reader.tag_and_type()) {
      case number(render_stage::kEventId): stage.event_id = reader.get_int64(); break;
      case number(render_stage::kDuration): duration = reader.get_uint64(); break;
      case number(render_stage::kGpu): gpu = reader.get_int32(); break;
      case number(render_stage::kQueueIid): stage.queue = Sequence::name(sequence.stages, reader.get_uint64()); break;
      case number(render_stage::kStageIid): stage.stage = Sequence::name(sequence.stages, reader.get_uint64()); break;
      case bytes(render_stage::kName): stage.name = intern(text_of(reader.get_view())); break;
      case number(render_stage::kNameIid): stage.name = Sequence::name(sequence.names, reader.get_uint64()); break;
      case number(render_stage::kKernelIid):
        kernel = Sequence::name(sequence.kernels, reader.get_uint64());
        stage.is_kernel = true;
        break;
      case bytes(render_stage::kExtraData): {
        const Pair extra = pair_of(reader.get_view());
        take_argument(arguments, extra.first, extra.second);
        break;
      }
      case bytes(render_stage::kLaunch): {
        stage.is_kernel = true;
        pbf_reader launch = reader.get_message();
        while (launch.next()) switch (launch.tag_and_type()) {
            case bytes(1): arguments.work.shape.grid = size_of(launch.get_view()); break;
            case bytes(2): arguments.work.shape.block = size_of(launch.get_view()); break;
            default: launch.skip();
          }
        break;
      }
      default: reader.skip();
    }
  if (duration > std::uint64_t{kMostDurationNs}) return skip("invalid or overflowing duration");
  stage.duration_ns = static_cast<std::int64_t>(duration);
  if (arguments.work.device < 0) arguments.work.device = static_cast<std::int32_t>(std::max<std::int64_t>(gpu, -1));
  if (kernel != kNoName) stage.name = kernel;
  stage.arguments = add(arguments);
  events_.stages.push_back(stage);
}

Events Decoder::finish() {
  events_.unix_offset_ns = clocks_.unix_offset_ns();
  return std::move(events_);
}

}  // namespace underlap::formats::pftrace
