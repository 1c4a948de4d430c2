// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <protozero/data_view.hpp>
#include <string_view>
#include <vector>

namespace underlap::formats {

/// The state of the next packet in a stream: whole, truncated by the end, or not a packet.
enum class NextPacket { whole, truncated, broken };

/// Takes the packet at `at`, before `end`: a tag, a length and that many bytes. Moves `at` past it where it is whole.
NextPacket take_packet(const char*& at, const char* end, protozero::data_view& packet);

/// The packets in the first bytes of a file. The last one may be cut. Empty if the bytes
/// are not packets: a text may start like a packet, with a line feed, but no packet follows.
std::vector<protozero::data_view> first_packets(std::string_view bytes);

/// Whether a packet, or the start of one, has a field: perfetto::bytes(tag) or perfetto::number(tag).
bool has_field(protozero::data_view packet, std::uint32_t tag_and_type);

/// CRC-32 as zlib and PNG have it. Any one flipped bit changes it, and so does any run of up to 32 wrong ones.
std::uint32_t checksum_of(std::string_view bytes);

}  // namespace underlap::formats
