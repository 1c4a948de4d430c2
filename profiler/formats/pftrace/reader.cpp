// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/pftrace/reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <protozero/pbf_reader.hpp>
#include <set>
#include <stdexcept>
#include <utility>

#include "platform/input/input_file.hpp"
#include "platform/memory_room.hpp"
#include "profiler/formats/kineto/builder.hpp"
#include "profiler/formats/perfetto/packets.hpp"
#include "profiler/formats/perfetto/slice.hpp"
#include "profiler/formats/pftrace/decoder.hpp"
#include "profiler/formats/pftrace/fields.hpp"
#include "profiler/formats/pftrace/rows.hpp"
#include "profiler/trace/reading.hpp"

namespace underlap::formats::pftrace {
namespace {

// Shares of the time that reading takes.
constexpr double kUnpacked = 0.2;
constexpr double kDecoded = 0.7;
// Bytes of memory for each byte of the file, measured on a file of slices with four arguments.
constexpr std::int64_t kMemoryFactor = 6;

// "a, b, c and 4 more"
std::string list_of(const std::set<std::string_view>& names) {
  constexpr std::size_t kShown = 6;
  std::string list;
  std::size_t count = 0;
  for (const std::string_view name : names) {
    if (count++ == kShown) break;
    list += fmt::format("{}\"{}\"", list.empty() ? "" : ", ", name.substr(0, 60));
  }
  if (names.size() > kShown) list += fmt::format(" and {} more", names.size() - kShown);
  return list.empty() ? "none" : list;
}

// What a file without work of a GPU has instead.
std::string contents_of(const Events& events) {
  std::set<std::string_view> categories, tracks, stages;
  for (const Event& event : events.events) {
    if (event.category != kNoName) categories.insert(name_of(event.category));
    if (events.tracks[event.track].name != kNoName) tracks.insert(name_of(events.tracks[event.track].name));
  }
  for (const RenderStage& stage : events.stages)
    if (stage.stage != kNoName) stages.insert(name_of(stage.stage));
  std::string text = fmt::format("its categories: {}; its tracks: {}", list_of(categories), list_of(tracks));
  if (!stages.empty()) text += "; its GPU stages: " + list_of(stages);
  return text;
}

void decode(std::string_view file, Decoder& decoder, Reading& reading) {
  constexpr int kPacketsPerReport = 1000;
  const char* at = file.data();
  const char* const end = at + file.size();
  protozero::data_view packet;
  for (int count = 0; at != end; ++count) {
    const NextPacket next = take_packet(at, end, packet);
    if (next == NextPacket::truncated) return decoder.skip("truncated packet");
    if (next == NextPacket::broken) return decoder.skip("rest of the file after a broken packet");
    decoder.add_packet(packet);
    if (count % kPacketsPerReport == 0) reading.at(static_cast<std::uint64_t>(at - file.data()), file.size());
  }
}

// Hands the rows over in pieces, to report progress.
void add_rows(KinetoEvents events, KinetoBuilder& builder, Reading& reading) {
  constexpr std::size_t kPiece = 4096;
  const std::vector<KinetoRow> rows = std::exchange(events.rows, {});
  for (std::size_t begin = 0; begin < rows.size() || begin == 0; begin += kPiece) {
    const std::size_t end = std::min(begin + kPiece, rows.size());
    events.rows.assign(rows.begin() + static_cast<std::ptrdiff_t>(begin),
                       rows.begin() + static_cast<std::ptrdiff_t>(end));
    builder.add(events);
    events.events = 0;
    events.skipped.clear();
    reading.at(end, rows.size());
    reading.show(builder.trace());
  }
}

// {id: 1, name: "/device:GPU:0"}: the first plane of an xplane.pb. A packet has no text in this field.
bool is_plane(protozero::data_view message) {
  constexpr std::uint32_t kName = 2;
  protozero::pbf_reader reader(message);
  try {
    while (reader.next()) {
      if (reader.tag_and_type() == perfetto::bytes(kName)) {
        const protozero::data_view name = reader.get_view();
        return name.size() > 0 && static_cast<unsigned char>(name.data()[0]) >= ' ';
      }
      reader.skip();
    }
  } catch (const protozero::exception&) {  // the end of the message is missing
  }
  return false;
}

// Whether it has what this reader uses, or what any packet may have.
bool is_packet(protozero::data_view message) {
  using perfetto::bytes, perfetto::number;
  constexpr std::array kFields{number(perfetto::packet::kTimestamp),
                               number(perfetto::packet::kSequence),
                               bytes(perfetto::packet::kClockSnapshot),
                               bytes(perfetto::packet::kTrackEvent),
                               bytes(perfetto::packet::kInternedData),
                               bytes(perfetto::packet::kTrackDescriptor),
                               bytes(packet::kCompressed),
                               bytes(packet::kGpuRenderStage),
                               bytes(packet::kZstdCompressed)};
  return std::ranges::any_of(kFields, [&](std::uint32_t field) { return has_field(message, field); });
}

Decoder new_decoder(const Reading& reading) {
  return {static_cast<std::size_t>(std::max<std::int64_t>(0, memory_room().amount / kMemoryFactor)),
          [&reading] { reading.check(); }};
}

Trace trace_of(Events events, const std::string& origin, Reading& reading) {
  reading.begin_stage(kDecoded, 1);
  KinetoLanes lanes;
  KinetoBuilder builder(lanes);
  add_rows(rows_of(events, lanes, reading), builder, reading);
  KinetoHeader header;
  if (0 < events.unix_offset_ns && events.unix_offset_ns <= kMostTimeNs) header.base_ns = events.unix_offset_ns;
  Trace trace = builder.finish(header, reading);
  trace.metadata["format"] = "pftrace";
  for (std::size_t i = 0; i < trace.size(); ++i)
    if (trace.is_work(i)) return trace;
  throw std::invalid_argument(
      fmt::format("{}: a Perfetto trace without GPU kernels ({}); record kernels with the PyTorch profiler "
                  "(ProfilerActivity.CUDA), `rocprofv3 --kernel-trace --output-format pftrace`, or Nsight Systems",
                  origin, contents_of(events)));
}

}  // namespace

bool is_foreign(std::string_view bytes) {
  const std::vector<protozero::data_view> packets = first_packets(bytes);
  return !packets.empty() && !is_plane(packets.front()) && std::ranges::any_of(packets, is_packet);
}

Trace read(const std::filesystem::path& path, Reading& reading) {
  reading.begin_stage(0, kUnpacked);
  ByteStream stream(path);
  FileBytes file = read_bytes(stream, {.memory_factor = kMemoryFactor},
                              [&] { reading.at(stream.bytes_taken(), stream.file_length()); });
  reading.begin_stage(kUnpacked, kDecoded);
  Decoder decoder = new_decoder(reading);
  decode(file.bytes, decoder, reading);
  const std::string fault = std::move(file.fault);
  file = {};
  Trace trace = trace_of(decoder.finish(), path.string(), reading);
  if (!fault.empty()) ++trace.import.skipped[fault];
  return trace;
}

Trace read(std::string_view bytes, const std::filesystem::path& origin) {
  Reading unwatched;
  Decoder decoder = new_decoder(unwatched);
  decode(bytes, decoder, unwatched);
  return trace_of(decoder.finish(), origin.string(), unwatched);
}

}  // namespace underlap::formats::pftrace
