// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/perfetto/reader.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "platform/input/input_file.hpp"
#include "profiler/formats/perfetto/decoder.hpp"
#include "profiler/formats/perfetto/packets.hpp"
#include "profiler/formats/read_ahead.hpp"
#include "profiler/trace/reading.hpp"

namespace underlap::formats {
namespace {

constexpr double kUnpacking = 0.25;                        // of the time that unpacking and decoding take
constexpr std::size_t kPieceBytes = std::size_t{1} << 20;  // stays in the cache until it is decoded

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

// Decodes `bytes` in pieces, to report progress. `arrive` fills the next piece; fewer bytes mean the end, for a file
// that has become shorter since.
template <class Arrive>
void decode_pieces(std::span<char> bytes, PerfettoDecoder& decoder, Reading& reading, Arrive&& arrive) {
  std::size_t used = 0, seen = 0;
  for (bool ends = bytes.empty(); !ends;) {
    const std::span<char> piece = bytes.subspan(seen, std::min(kPieceBytes, bytes.size() - seen));
    const std::size_t count = arrive(piece);
    seen += count;
    ends = count < piece.size() || seen == bytes.size();
    const auto rest = decode(bytes.data() + used, bytes.data() + seen, decoder);
    if (!rest) return;
    used = static_cast<std::size_t>(*rest - bytes.data());
    reading.at(used, bytes.size());
    reading.show(decoder.trace());
  }
  if (used < seen) decoder.skip("truncated packet");
}

// Ends the decompressor, whose window can take 128 MiB.
FileBytes unpack(ByteStream stream, Reading& reading) {
  reading.begin_stage(0, kUnpacking);
  return read_bytes(stream, {}, [&] { reading.at(stream.bytes_taken(), stream.file_length()); });
}

// The packets of a block lie in one piece of memory. The length of a compressed file is not known before it is
// unpacked.
void decode_compressed(ByteStream stream, PerfettoDecoder& decoder, Reading& reading) {
  FileBytes unpacked = unpack(std::move(stream), reading);
  reading.begin_stage(kUnpacking, 1);
  decode_pieces(unpacked.bytes, decoder, reading, [](std::span<char> piece) { return piece.size(); });
  if (!unpacked.fault.empty()) decoder.skip(unpacked.fault);
}

void decode_plain(ByteStream& stream, PerfettoDecoder& decoder, Reading& reading) {
  require_room(stream.path(), stream.file_length());
  const auto length = static_cast<std::size_t>(stream.file_length());
  const auto bytes = std::make_unique_for_overwrite<char[]>(length);
  ReadAhead ahead(stream);
  decode_pieces({bytes.get(), length}, decoder, reading, [&](std::span<char> piece) { return ahead.read(piece); });
}

}  // namespace

Trace read_perfetto(std::string_view bytes, const std::filesystem::path& origin) {
  PerfettoDecoder decoder(origin.string());
  const char* const end = bytes.data() + bytes.size();
  if (const auto rest = decode(bytes.data(), end, decoder); rest && *rest != end) decoder.skip("truncated packet");
  return decoder.finish();
}

Trace read_perfetto(const std::filesystem::path& path, Reading& reading) {
  ByteStream stream(path);
  PerfettoDecoder decoder(path.string());
  if (stream.is_compressed())
    decode_compressed(std::move(stream), decoder, reading);
  else
    decode_plain(stream, decoder, reading);
  return decoder.finish();
}

}  // namespace underlap::formats
