// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/file_bytes.hpp"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "platform/errors.hpp"

namespace underlap::formats {
namespace {

constexpr std::string_view kZstdMagic{"\x28\xB5\x2F\xFD", 4};

struct FreeStream {
  void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
};

[[noreturn]] void fail(const std::filesystem::path& path) {
  throw MachineError(fmt::format("{}: cannot be read: {}", path.string(), std::strerror(errno)));
}

// Reads the file piece by piece, at most 1 MiB at a time.
class Source {
 public:
  explicit Source(const std::filesystem::path& path) : path_(path), file_(std::fopen(path.c_str(), "rb")) {
    if (!file_) fail(path);
  }

  /// The next piece; empty at the end.
  std::string_view next() {
    const std::size_t count = std::fread(buffer_.data(), 1, buffer_.size(), file_.get());
    if (std::ferror(file_.get())) fail(path_);
    return {buffer_.data(), count};
  }

 private:
  std::filesystem::path path_;
  File file_;
  std::vector<char> buffer_ = std::vector<char>(std::size_t{1} << 20);
};

void decompress(Source& source, std::string_view piece, std::size_t limit, FileBytes& into) {
  const std::unique_ptr<ZSTD_DStream, FreeStream> stream(ZSTD_createDStream());
  std::vector<char> buffer(ZSTD_DStreamOutSize());
  std::size_t rest = 0;  // 0 exactly between two frames
  for (; !piece.empty() && into.bytes.size() < limit; piece = source.next()) {
    ZSTD_inBuffer in{piece.data(), piece.size(), 0};
    ZSTD_outBuffer out{buffer.data(), buffer.size(), 0};
    // A full output buffer may leave decompressed bytes inside the stream although the input is used up.
    for (bool more = true; more && into.bytes.size() < limit;
         more = in.pos < in.size || (out.pos == out.size && rest != 0)) {
      out.pos = 0;
      rest = ZSTD_decompressStream(stream.get(), &out, &in);
      if (ZSTD_isError(rest)) {
        into.fault = "compressed data is corrupt";
        return;
      }
      into.bytes.append(buffer.data(), out.pos);
    }
  }
  if (rest != 0 && into.bytes.size() < limit) into.fault = "compressed data is cut short";
}

}  // namespace

FileBytes read_bytes(const std::filesystem::path& path, std::size_t limit) {
  Source source(path);
  FileBytes result;
  std::string_view piece = source.next();
  if (piece.starts_with(kZstdMagic))
    decompress(source, piece, limit, result);
  else
    for (; !piece.empty() && result.bytes.size() < limit; piece = source.next()) result.bytes += piece;
  result.bytes.resize(std::min(result.bytes.size(), limit));
  return result;
}

std::string zstd_frame(std::string_view bytes) {
  constexpr int kLevel = 3;
  std::string frame(ZSTD_compressBound(bytes.size()), '\0');
  const std::size_t size = ZSTD_compress(frame.data(), frame.size(), bytes.data(), bytes.size(), kLevel);
  if (ZSTD_isError(size)) throw MachineError(fmt::format("zstd: {}", ZSTD_getErrorName(size)));
  frame.resize(size);
  return frame;
}

}  // namespace underlap::formats
