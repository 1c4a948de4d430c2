// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/perfetto/packets.hpp"

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <protozero/exception.hpp>
#include <protozero/varint.hpp>

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

std::uint32_t checksum_of(std::string_view bytes) {
  return static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace underlap::formats
