// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace underlap::formats {

/// CRC-32 as zlib and PNG have it. Any one flipped bit changes it, and so does any run of up to 32 wrong ones.
std::uint32_t checksum_of(std::string_view bytes);

}  // namespace underlap::formats
