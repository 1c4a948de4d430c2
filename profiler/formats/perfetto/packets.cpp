// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/perfetto/packets.hpp"

#include <zlib.h>

#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>
#include <protozero/varint.hpp>

#include "profiler/formats/format.hpp"
#include "profiler/formats/perfetto/fields.hpp"

namespace underlap::formats {

// 0a 05 40 b0 09 50 01: the tag, 5 bytes that follow, and in them a timestamp of 1200 on sequence 1
NextPacket take_packet(const char*& at, const char* end, protozero::data_view& packet) {
  constexpr std::uint64_t kTag = perfetto::kTracePacket << 3 | 2;  // wire type 2: a length and its bytes
  const char* cursor = at;
  try {
    if (protozero::decode_varint(&cursor, end) != kTag) return NextPacket::broken;
    const std::uint64_t length = protozero::decode_varint(&cursor, end);
    if (length > static_cast<std::uint64_t>(end - cursor)) return NextPacket::truncated;
    packet = {cursor, static_cast<std::size_t>(length)};
    at = cursor + length;
    return NextPacket::whole;
  } catch (const protozero::end_of_buffer_exception&) {
    return NextPacket::truncated;
  } catch (const protozero::varint_too_long_exception&) {
    return NextPacket::broken;
  }
}

std::vector<protozero::data_view> first_packets(std::string_view bytes) {
  const char* at = bytes.data();
  const char* const end = at + bytes.size();
  std::vector<protozero::data_view> packets;
  protozero::data_view packet;
  while (at != end) switch (take_packet(at, end, packet)) {
      case NextPacket::whole: packets.push_back(packet); break;
      case NextPacket::broken: return {};
      case NextPacket::truncated:
        if (packets.empty() && bytes.size() != kSniffBytes) return {};
        try {
          protozero::decode_varint(&at, end);
          protozero::decode_varint(&at, end);
          packets.emplace_back(at, static_cast<std::size_t>(end - at));
        } catch (const protozero::exception&) {  // the end cuts the length
        }
        return packets;
    }
  return packets;
}

bool has_field(protozero::data_view packet, std::uint32_t tag_and_type) {
  protozero::pbf_reader reader(packet);
  try {
    for (; reader.next(); reader.skip())
      if (reader.tag_and_type() == tag_and_type) return true;
  } catch (const protozero::exception&) {  // the end of the packet is missing, or it is none
  }
  return false;
}

std::uint32_t checksum_of(std::string_view bytes) {
  return static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace underlap::formats
