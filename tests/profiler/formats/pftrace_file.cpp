// SPDX-License-Identifier: Apache-2.0
#include "tests/profiler/formats/pftrace_file.hpp"

#include <protozero/pbf_writer.hpp>

namespace underlap::testing_support {
namespace {

using protozero::pbf_writer;

constexpr std::uint32_t kSequence = 1;

void add_annotation(pbf_writer& event, const std::string& key, const PftraceFile::Value& value) {
  pbf_writer annotation(event, 4);
  annotation.add_string(10, key);
  if (const auto* number = std::get_if<std::int64_t>(&value))
    annotation.add_int64(4, *number);
  else if (const auto* text = std::get_if<std::string>(&value))
    annotation.add_string(6, *text);
  else
    for (const std::int64_t item : std::get<std::vector<std::int64_t>>(value))
      pbf_writer(annotation, 12).add_int64(4, item);
}

// A packet, as long as it is in scope.
struct Stream {
  pbf_writer stream;
};
class Packet : private Stream, public pbf_writer {
 public:
  explicit Packet(std::string& bytes) : Stream{pbf_writer(bytes)}, pbf_writer(stream, 1) { add_uint32(10, kSequence); }
  Packet(std::string& bytes, std::int64_t time, std::uint64_t clock = 0) : Packet(bytes) {
    add_uint64(8, static_cast<std::uint64_t>(time));
    if (clock != 0) add_uint64(58, clock);
  }
};

}  // namespace

void PftraceFile::process(std::uint64_t uuid, std::int64_t pid, const std::string& name) {
  Packet packet(bytes);
  pbf_writer descriptor(packet, 60);
  descriptor.add_uint64(1, uuid);
  pbf_writer process(descriptor, 3);
  process.add_int64(1, pid);
  process.add_string(6, name);
}

void PftraceFile::thread(std::uint64_t uuid, std::uint64_t parent, std::int64_t pid, std::int64_t tid,
                         const std::string& name) {
  Packet packet(bytes);
  pbf_writer descriptor(packet, 60);
  descriptor.add_uint64(1, uuid);
  descriptor.add_uint64(5, parent);
  pbf_writer thread(descriptor, 4);
  thread.add_int64(1, pid);
  thread.add_int64(2, tid);
  thread.add_string(5, name);
}

void PftraceFile::track(std::uint64_t uuid, std::uint64_t parent, const std::string& name) {
  Packet packet(bytes);
  pbf_writer descriptor(packet, 60);
  descriptor.add_uint64(1, uuid);
  if (parent != 0) descriptor.add_uint64(5, parent);
  descriptor.add_string(2, name);
}

void PftraceFile::intern(std::initializer_list<std::pair<Table, std::pair<std::uint64_t, std::string>>> entries,
                         std::initializer_list<std::pair<std::uint64_t, std::string>> kernels) {
  Packet packet(bytes);
  packet.add_uint32(13, 1);
  pbf_writer interned(packet, 12);
  for (const auto& [table, entry] : entries) {
    pbf_writer message(interned, static_cast<std::uint32_t>(table));
    message.add_uint64(1, entry.first);
    message.add_string(2, entry.second);
  }
  for (const auto& [iid, name] : kernels) {
    pbf_writer message(interned, 1000);
    message.add_uint64(1, iid);
    message.add_string(2, "_Z" + name);
    message.add_string(3, name);
  }
}

void PftraceFile::clocks(std::initializer_list<Clock> clocks, std::uint64_t default_clock) {
  Packet packet(bytes);
  if (default_clock != 0) pbf_writer(packet, 59).add_uint64(58, default_clock);
  pbf_writer snapshot(packet, 6);
  for (const Clock& clock : clocks) {
    pbf_writer message(snapshot, 1);
    message.add_uint64(1, clock.id);
    message.add_uint64(2, clock.timestamp);
    if (clock.is_incremental) message.add_bool(3, true);
  }
}

void PftraceFile::begin(const Slice& slice, std::uint64_t clock) {
  Packet packet(bytes, slice.start, clock);
  pbf_writer event(packet, 11);
  event.add_uint32(9, 1);
  event.add_uint64(11, slice.track);
  event.add_string(23, slice.name);
  if (!slice.category.empty()) event.add_string(22, slice.category);
  for (const auto& [key, value] : slice.arguments) add_annotation(event, key, value);
  for (const std::uint64_t flow : slice.flows) event.add_fixed64(47, flow);
  if (slice.stages.empty()) return;
  pbf_writer launches(event, 3000);
  for (const std::uint64_t stage : slice.stages) launches.add_uint64(1, stage);
}

void PftraceFile::end(const Slice& slice, std::uint64_t clock) {
  Packet packet(bytes, slice.end, clock);
  pbf_writer event(packet, 11);
  event.add_uint32(9, 2);
  event.add_uint64(11, slice.track);
}

void PftraceFile::stage(const Stage& stage) {
  Packet packet(bytes, stage.start);
  packet.add_uint32(13, 2);
  pbf_writer event(packet, 53);
  event.add_uint64(1, stage.event_id);
  event.add_uint64(2, static_cast<std::uint64_t>(stage.duration));
  event.add_int64(11, stage.gpu);
  event.add_uint64(13, stage.queue);
  event.add_uint64(14, stage.stage);
  if (stage.name != 0) event.add_uint64(20, stage.name);
  if (stage.kernel != 0) event.add_uint64(19, stage.kernel);
  for (const auto& [name, value] : stage.extra) {
    pbf_writer extra(event, 6);
    extra.add_string(1, name);
    extra.add_string(2, value);
  }
  if (stage.grid.empty()) return;
  pbf_writer launch(event, 21);
  pbf_writer grid(launch, 1);
  for (std::uint32_t i = 0; i < stage.grid.size(); ++i) grid.add_uint64(i + 1, stage.grid[i]);
}

void PftraceFile::packet(const std::string& message) { pbf_writer(bytes).add_message(1, message); }

}  // namespace underlap::testing_support
