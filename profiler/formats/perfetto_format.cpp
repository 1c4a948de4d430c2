// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/format.hpp"
#include "profiler/formats/output_file.hpp"
#include "profiler/formats/perfetto/encoder.hpp"
#include "profiler/formats/perfetto/packets.hpp"
#include "profiler/formats/perfetto/reader.hpp"

namespace underlap::formats {
namespace {

// A file is packets from end to end. A text may begin as a packet does, with a line feed, but the place where its
// first packet would end holds no other.
bool is_perfetto(std::span<const std::byte> bytes) {
  const char* at = reinterpret_cast<const char*>(bytes.data());
  const char* const end = at + bytes.size();
  bool any_whole = false;
  protozero::data_view packet;
  while (at != end) switch (take_packet(at, end, packet)) {
      case NextPacket::whole: any_whole = true; break;
      case NextPacket::truncated: return any_whole || bytes.size() == kSniffBytes;
      case NextPacket::broken: return false;
    }
  return any_whole;
}

void write(const std::filesystem::path& path, const Trace& trace) {
  OutputFile file(path);
  file.write(PerfettoEncoder().encode(trace));
  file.close();
}

}  // namespace

Format perfetto_format() {
  return {.name = "perfetto",
          .extension = ".pftrace",
          .description = "native: Perfetto packets, for ui.perfetto.dev; may be compressed (.zst)",
          .sniff = is_perfetto,
          .read = read_perfetto,
          .write = write};
}

}  // namespace underlap::formats
