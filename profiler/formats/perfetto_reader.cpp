// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/perfetto_reader.hpp"

#include "profiler/formats/file_bytes.hpp"
#include "profiler/formats/perfetto_decoder.hpp"
#include "profiler/formats/perfetto_packets.hpp"

namespace underlap::formats {
namespace {

void decode(std::span<const std::byte> bytes, PerfettoDecoder& decoder) {
  const char* at = reinterpret_cast<const char*>(bytes.data());
  const char* const end = at + bytes.size();
  protozero::data_view packet;
  while (at != end) {
    const char* const begin = at;
    switch (take_packet(at, end, packet)) {
      case NextPacket::whole: decoder.add_packet(packet, begin); break;
      case NextPacket::truncated: return decoder.skip("truncated packet");
      // The length of a broken packet is not known, so where the next one begins is not either.
      case NextPacket::broken: return decoder.skip("rest of the file behind a broken packet");
    }
  }
}

}  // namespace

Trace read_perfetto(std::span<const std::byte> bytes, const std::filesystem::path& origin) {
  PerfettoDecoder decoder(origin.string());
  decode(bytes, decoder);
  return decoder.finish();
}

Trace read_perfetto(const std::filesystem::path& path) {
  const FileBytes file = read_bytes(path);
  PerfettoDecoder decoder(path.string());
  decode(file.span(), decoder);
  if (!file.fault.empty()) decoder.skip(file.fault);
  return decoder.finish();
}

}  // namespace underlap::formats
