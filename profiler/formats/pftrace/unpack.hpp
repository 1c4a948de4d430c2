// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <protozero/data_view.hpp>
#include <string>

namespace underlap::formats::pftrace {

/// The packets inside a packet, as far as they could be decompressed.
struct Unpacked {
  std::string bytes;
  bool is_whole = false;
};

/// Decompresses a zlib or gzip stream to at most `most_bytes`. Calls `check` every few MiB; it may throw.
Unpacked unpack_zlib(protozero::data_view, std::size_t most_bytes, const std::function<void()>& check);
/// The same for zstd frames.
Unpacked unpack_zstd(protozero::data_view, std::size_t most_bytes, const std::function<void()>& check);

}  // namespace underlap::formats::pftrace
