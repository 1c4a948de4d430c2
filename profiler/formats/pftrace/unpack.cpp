// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/pftrace/unpack.hpp"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <memory>
#include <new>

namespace underlap::formats::pftrace {
namespace {

constexpr std::size_t kStepBytes = std::size_t{1} << 20;

// Makes room for more. Returns how much; 0: there is no more room.
std::size_t grow(std::string& bytes, std::size_t most_bytes) {
  const std::size_t before = bytes.size();
  bytes.resize(std::min(before + std::min(std::max(kStepBytes, before / 2), 8 * kStepBytes), most_bytes));
  return bytes.size() - before;
}

}  // namespace

Unpacked unpack_zlib(protozero::data_view packed, std::size_t most_bytes, const std::function<void()>& check) {
  constexpr int kZlibOrGzip = MAX_WBITS + 32;
  z_stream stream{};
  if (packed.size() > most_bytes) return {};
  if (::inflateInit2(&stream, kZlibOrGzip) != Z_OK) throw std::bad_alloc();
  const std::unique_ptr<z_stream, int (*)(z_stream*)> open(&stream, ::inflateEnd);
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(packed.data()));  // NOLINT: it is only read
  std::size_t left = packed.size();
  Unpacked unpacked;
  for (int status = Z_OK; status == Z_OK;) {
    check();
    const std::size_t room = grow(unpacked.bytes, most_bytes);
    if (room == 0) break;
    const std::size_t given = std::min(left, kStepBytes);
    stream.avail_in = static_cast<uInt>(given);
    stream.next_out = reinterpret_cast<Bytef*>(unpacked.bytes.data() + unpacked.bytes.size() - room);
    stream.avail_out = static_cast<uInt>(std::min(room, kStepBytes));
    const std::size_t asked = stream.avail_out;
    status = ::inflate(&stream, Z_NO_FLUSH);
    left -= given - stream.avail_in;
    unpacked.bytes.resize(unpacked.bytes.size() - room + asked - stream.avail_out);
    unpacked.is_whole = status == Z_STREAM_END;
  }
  return unpacked;
}

Unpacked unpack_zstd(protozero::data_view packed, std::size_t most_bytes, const std::function<void()>& check) {
  const std::unique_ptr<ZSTD_DStream, std::size_t (*)(ZSTD_DStream*)> stream(::ZSTD_createDStream(),
                                                                             ::ZSTD_freeDStream);
  if (stream == nullptr) throw std::bad_alloc();
  ZSTD_inBuffer in{packed.data(), packed.size(), 0};
  Unpacked unpacked;
  std::size_t status = 1;
  while (true) {
    check();
    const std::size_t room = grow(unpacked.bytes, most_bytes);
    if (room == 0) break;
    ZSTD_outBuffer out{unpacked.bytes.data() + unpacked.bytes.size() - room, room, 0};
    const std::size_t taken = in.pos;
    status = ::ZSTD_decompressStream(stream.get(), &out, &in);
    unpacked.bytes.resize(unpacked.bytes.size() - room + out.pos);
    const bool is_stuck = out.pos == 0 && in.pos == taken;
    if (::ZSTD_isError(status) != 0 || is_stuck || (in.pos == in.size && out.pos < room)) break;
  }
  unpacked.is_whole = status == 0 && in.pos == in.size;
  return unpacked;
}

}  // namespace underlap::formats::pftrace
