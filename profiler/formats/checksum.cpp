// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/checksum.hpp"

#include <zlib.h>

namespace underlap::formats {

std::uint32_t checksum_of(std::string_view bytes) {
  return static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace underlap::formats
