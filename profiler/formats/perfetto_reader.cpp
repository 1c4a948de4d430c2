// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/perfetto_reader.hpp"

#include <optional>
#include <string_view>

#include "profiler/formats/arriving_bytes.hpp"
#include "profiler/formats/perfetto_decoder.hpp"
#include "profiler/formats/perfetto_packets.hpp"

namespace underlap::formats {
namespace {

// Hands the whole packets before `end` to the decoder. Returns what follows them: nothing, or the begin of a packet
// that is not whole; nullopt where no packet can follow.
std::optional<const char*> decode(const char* at, const char* end, PerfettoDecoder& decoder) {
  protozero::data_view packet;
  while (at != end) {
    const char* const begin = at;
    switch (take_packet(at, end, packet)) {
      case NextPacket::whole: decoder.add_packet(packet, begin); break;
      case NextPacket::truncated: return at;
      case NextPacket::broken:
        // The length of a broken packet is not known, so where the next one begins is not either.
        decoder.skip("rest of the file behind a broken packet");
        return std::nullopt;
    }
  }
  return at;
}

void decode(ArrivingBytes& file, PerfettoDecoder& decoder) {
  std::string_view bytes;
  for (std::optional<const char*> rest = bytes.data(); rest;) {
    const std::size_t used = bytes.empty() ? 0 : static_cast<std::size_t>(*rest - bytes.data());
    const std::string_view more = file.beyond(bytes.size());
    if (more.size() == bytes.size()) {
      if (used < bytes.size()) decoder.skip("truncated packet");
      return;
    }
    bytes = more;
    rest = decode(bytes.data() + used, bytes.data() + bytes.size(), decoder);
  }
}

}  // namespace

Trace read_perfetto(std::span<const std::byte> bytes, const std::filesystem::path& origin) {
  PerfettoDecoder decoder(origin.string());
  const char* const begin = reinterpret_cast<const char*>(bytes.data());
  const char* const end = begin + bytes.size();
  if (const auto rest = decode(begin, end, decoder); rest && *rest != end) decoder.skip("truncated packet");
  return decoder.finish();
}

Trace read_perfetto(const std::filesystem::path& path) {
  ArrivingBytes file(path);
  return read_perfetto(file, path);
}

Trace read_perfetto(ArrivingBytes& file, const std::filesystem::path& origin) {
  PerfettoDecoder decoder(origin.string());
  decode(file, decoder);
  if (!file.fault().empty()) decoder.skip(file.fault());
  return decoder.finish();
}

}  // namespace underlap::formats
