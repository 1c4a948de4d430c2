// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/perfetto/reader.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

#include "profiler/formats/arriving_bytes.hpp"
#include "profiler/formats/perfetto/decoder.hpp"
#include "profiler/formats/perfetto/packets.hpp"
#include "profiler/trace/reading.hpp"

namespace underlap::formats {
namespace {

// Hands the whole packets before `end` to the decoder. Returns the rest: nothing, or the start of an incomplete packet;
// nullopt if no packet can follow.
std::optional<const char*> decode(const char* at, const char* end, PerfettoDecoder& decoder) {
  protozero::data_view packet;
  while (at != end) {
    const char* const begin = at;
    switch (take_packet(at, end, packet)) {
      case NextPacket::whole: decoder.add_packet(packet, begin); break;
      case NextPacket::truncated: return at;
      case NextPacket::broken:
        // The length of a broken packet is not known, so where the next one begins is not either.
        decoder.skip("rest of the file after a broken packet");
        return std::nullopt;
    }
  }
  return at;
}

// Decodes in pieces, even if all bytes are available at once, to report progress.
void decode(ArrivingBytes& file, PerfettoDecoder& decoder, Reading& reading) {
  std::string_view bytes;
  for (std::size_t used = 0, seen = 0;;) {
    if (seen == bytes.size()) bytes = file.beyond(seen);
    if (seen == bytes.size()) {
      if (used < seen) decoder.skip("truncated packet");
      return;
    }
    seen = std::min(bytes.size(), seen + ArrivingBytes::kPieceBytes);
    const auto rest = decode(bytes.data() + used, bytes.data() + seen, decoder);
    if (!rest) return;
    used = static_cast<std::size_t>(*rest - bytes.data());
    reading.at(used, file.length());
    reading.show(decoder.trace());
  }
}

Trace read(ArrivingBytes& file, const std::filesystem::path& origin, Reading& reading) {
  PerfettoDecoder decoder(origin.string());
  decode(file, decoder, reading);
  if (!file.fault().empty()) decoder.skip(file.fault());
  return decoder.finish();
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
  Reading unwatched;
  return read_perfetto(path, unwatched);
}

Trace read_perfetto(const std::filesystem::path& path, Reading& reading) {
  ArrivingBytes file(path, reading);
  return read(file, path, reading);
}

Trace read_perfetto(ArrivingBytes& file, const std::filesystem::path& origin) {
  Reading unwatched;
  return read(file, origin, unwatched);
}

}  // namespace underlap::formats
