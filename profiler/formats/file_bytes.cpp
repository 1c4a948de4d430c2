// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/file_bytes.hpp"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "platform/errors.hpp"
#include "profiler/formats/byte_stream.hpp"
#include "profiler/trace/reading.hpp"

namespace underlap::formats {
namespace {

constexpr std::string_view kZstdMagic{"\x28\xB5\x2F\xFD", 4};

struct FreeStream {
  void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
};

struct FreeContext {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};

double gigabytes(std::uint64_t bytes) { return static_cast<double>(bytes) / 1e9; }

// What may be read into memory.
class Budget {
 public:
  Budget(const std::filesystem::path& path, const ReadLimits& limits)
      : path_(path), file_length_(length_of_file(path)), most_(limits.bytes), free_(limits.free_memory) {}

  std::uint64_t file_length() const { return file_length_; }

  /// Makes room for `more` bytes behind those that there are.
  void reserve(std::string& bytes, std::uint64_t more) const {
    const std::uint64_t wanted = std::min<std::uint64_t>(more, most_);
    require(bytes.size() + wanted);
    bytes.reserve(bytes.size() + wanted);
  }

  void require(std::uint64_t bytes) const { require_room(path_, bytes, free_); }

 private:
  std::filesystem::path path_;
  std::uint64_t file_length_;
  std::uint64_t most_;
  std::int64_t free_;
};

// Reads the file piece by piece, at most 1 MiB at a time.
class Source {
 public:
  Source(const std::filesystem::path& path, std::uint64_t file_length, Reading& reading)
      : path_(path), file_length_(file_length), reading_(reading), file_(std::fopen(path.c_str(), "rb")) {
    if (!file_) throw std::invalid_argument(complaint());
  }

  /// The next piece; empty at the end.
  std::string_view next() {
    const std::size_t count = std::fread(buffer_.data(), 1, buffer_.size(), file_.get());
    if (std::ferror(file_.get())) throw MachineError(complaint());
    reading_.at(taken_, file_length_);  // of the pieces before, which were used
    taken_ += count;
    return {buffer_.data(), count};
  }

 private:
  std::string complaint() const { return fmt::format("{}: cannot be read: {}", path_.string(), std::strerror(errno)); }

  std::filesystem::path path_;
  std::uint64_t file_length_;
  Reading& reading_;
  File file_;
  std::uint64_t taken_ = 0;
  std::vector<char> buffer_ = std::vector<char>(std::size_t{1} << 20);
};

// Makes room for the frame that begins in `in`, where its header says how much that takes. Four bytes unpack to 128 KiB
// at most: a header that says more than the file can hold is wrong, and unpacking finds that out.
void reserve_frame(const ZSTD_inBuffer& in, const Budget& budget, std::string& bytes) {
  const auto size = ZSTD_getFrameContentSize(static_cast<const char*>(in.src) + in.pos, in.size - in.pos);
  if (size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR) return;
  if (size >> 15 <= budget.file_length()) budget.reserve(bytes, size);
}

void decompress(Source& source, std::string_view piece, std::size_t limit, const Budget& budget, const Reading& reading,
                FileBytes& into) {
  const std::unique_ptr<ZSTD_DStream, FreeStream> stream(ZSTD_createDStream());
  std::vector<char> buffer(ZSTD_DStreamOutSize());
  std::size_t rest = 0;  // 0 exactly between two frames
  for (; !piece.empty() && into.bytes.size() < limit; piece = source.next()) {
    ZSTD_inBuffer in{piece.data(), piece.size(), 0};
    ZSTD_outBuffer out{buffer.data(), buffer.size(), 0};
    // A full output buffer may leave decompressed bytes inside the stream although the input is used up.
    for (bool more = true; more && into.bytes.size() < limit;
         more = in.pos < in.size || (out.pos == out.size && rest != 0)) {
      reading.check();
      out.pos = 0;
      if (rest == 0) reserve_frame(in, budget, into.bytes);
      rest = ZSTD_decompressStream(stream.get(), &out, &in);
      if (ZSTD_isError(rest)) {
        into.fault = "compressed data is corrupt";
        return;
      }
      budget.require(into.bytes.size() + out.pos);
      into.bytes.append(buffer.data(), out.pos);
    }
  }
  if (rest != 0 && into.bytes.size() < limit) into.fault = "compressed data is cut short";
}

void inflate(const std::filesystem::path& path, std::size_t limit, const Budget& budget, Reading& reading,
             FileBytes& into) {
  ByteStream stream(path);
  std::vector<char> buffer(std::size_t{1} << 18);
  for (std::size_t count = buffer.size(); count == buffer.size() && into.bytes.size() < limit;) {
    reading.at(stream.bytes_taken(), stream.file_length());
    count = stream.read(std::span(buffer).first(std::min(buffer.size(), limit - into.bytes.size())));
    budget.require(into.bytes.size() + count);
    into.bytes.append(buffer.data(), count);
  }
  into.fault = stream.fault();
}

}  // namespace

FileBytes read_bytes(const std::filesystem::path& path, const ReadLimits& limits) {
  Reading unwatched;
  return read_bytes(path, limits, unwatched);
}

FileBytes read_bytes(const std::filesystem::path& path, const ReadLimits& limits, Reading& reading) {
  const Budget budget(path, limits);
  Source source(path, budget.file_length(), reading);
  FileBytes result;
  std::string_view piece = source.next();
  if (is_gzip(piece)) {
    inflate(path, limits.bytes, budget, reading, result);
  } else if (piece.starts_with(kZstdMagic)) {
    decompress(source, piece, limits.bytes, budget, reading, result);
  } else {
    budget.reserve(result.bytes, budget.file_length());
    for (; !piece.empty() && result.bytes.size() < limits.bytes; piece = source.next()) result.bytes += piece;
  }
  result.bytes.resize(std::min(result.bytes.size(), limits.bytes));
  return result;
}

void require_room(const std::filesystem::path& path, std::uint64_t bytes, std::int64_t free_memory) {
  const auto free = static_cast<std::uint64_t>(free_memory);
  if (bytes <= free / 3) return;
  throw std::invalid_argument(
      fmt::format("{}: unpacked it has {:.3g} GB or more, and reading it takes three times that; {:.3g} GB of memory "
                  "are free. If "
                  "it is a trace, read it where there is more",
                  path.string(), gigabytes(bytes), gigabytes(free)));
}

std::string zstd_frame(std::string_view bytes) {
  constexpr int kLevel = 3;
  const std::unique_ptr<ZSTD_CCtx, FreeContext> context(ZSTD_createCCtx());
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, kLevel);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  std::string frame(ZSTD_compressBound(bytes.size()), '\0');
  const std::size_t size = ZSTD_compress2(context.get(), frame.data(), frame.size(), bytes.data(), bytes.size());
  if (ZSTD_isError(size)) throw MachineError(fmt::format("zstd: {}", ZSTD_getErrorName(size)));
  frame.resize(size);
  return frame;
}

}  // namespace underlap::formats
