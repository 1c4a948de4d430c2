// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <protozero/data_view.hpp>
#include <string_view>

namespace underlap::formats {

/// The state of the next packet in a stream: whole, truncated by the end, or not a packet.
enum class NextPacket { whole, truncated, broken };

/// Takes the packet at `at`, before `end`: a tag, a length and that many bytes. Moves `at` past it where it is whole.
NextPacket take_packet(const char*& at, const char* end, protozero::data_view& packet);

/// CRC-32 as zlib and PNG have it. Any one flipped bit changes it, and so does any run of up to 32 wrong ones.
std::uint32_t checksum_of(std::string_view bytes);

}  // namespace underlap::formats
