// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/byte_stream.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <stdexcept>
#include <utility>
#include <vector>

#include "platform/errors.hpp"

namespace underlap::formats {
namespace {

constexpr std::string_view kZstdHead{"\x28\xB5\x2F\xFD", 4};
constexpr std::string_view kGzipMagic{"\x1F\x8B", 2};
constexpr std::size_t kPieceBytes = std::size_t{1} << 18;

struct CloseStream {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

// The file itself. Its first bytes are read at once, so that they tell what it is.
class PlainFile final : public Decoder {
 public:
  /// `taken` outlives this, and counts the bytes that were read.
  PlainFile(const std::filesystem::path& path, std::atomic<std::uint64_t>& taken)
      : path_(path), taken_(taken), file_(std::fopen(path.c_str(), "rb")) {
    if (!file_) throw std::invalid_argument(complaint());
    std::setvbuf(file_.get(), nullptr, _IONBF, 0);
    head_.resize(kZstdHead.size());
    head_.resize(read_file(head_));
  }

  std::string_view head() const { return head_; }

  std::size_t read(std::span<char> into) override {
    const std::size_t from_head = std::min(into.size(), head_.size() - head_used_);
    std::copy_n(head_.data() + head_used_, from_head, into.data());
    head_used_ += from_head;
    return from_head + read_file(into.subspan(from_head));
  }

 private:
  std::size_t read_file(std::span<char> into) {
    const std::size_t count = std::fread(into.data(), 1, into.size(), file_.get());
    if (std::ferror(file_.get())) throw MachineError(complaint());
    taken_.fetch_add(count, std::memory_order_relaxed);
    return count;
  }
  std::string complaint() const { return fmt::format("{}: cannot be read: {}", path_.string(), std::strerror(errno)); }

  std::filesystem::path path_;
  std::atomic<std::uint64_t>& taken_;
  std::unique_ptr<std::FILE, CloseStream> file_;
  std::string head_;
  std::size_t head_used_ = 0;
};

// What the decoders of compressed files share: pieces of the file, and why its data ends early.
class Compressed : public Decoder {
 public:
  explicit Compressed(std::unique_ptr<PlainFile> file) : file_(std::move(file)), piece_(kPieceBytes) {}
  std::string_view fault() const final { return fault_; }

 protected:
  std::span<char> next_piece() { return std::span(piece_).first(file_->read(piece_)); }
  void fail(std::string_view why) { fault_ = why; }

 private:
  std::unique_ptr<PlainFile> file_;
  std::vector<char> piece_;
  std::string_view fault_;
};

constexpr std::string_view kCorrupt = "compressed data is corrupt";
constexpr std::string_view kCutShort = "compressed data is cut short";

struct EndInflate {
  void operator()(z_stream* stream) const {
    inflateEnd(stream);
    delete stream;
  }
};

// A gzip file may have several members, one after the other; what follows the last and is none is left.
class GzipFile final : public Compressed {
 public:
  explicit GzipFile(std::unique_ptr<PlainFile> file) : Compressed(std::move(file)), stream_(new z_stream{}) {
    constexpr int kLargestWindowAndGzip = 15 + 16;
    if (inflateInit2(stream_.get(), kLargestWindowAndGzip) != Z_OK) throw std::bad_alloc();
  }

  std::size_t read(std::span<char> into) override {
    stream_->next_out = reinterpret_cast<Bytef*>(into.data());
    stream_->avail_out = static_cast<uInt>(into.size());
    while (stream_->avail_out > 0 && !ended_) step();
    return into.size() - stream_->avail_out;
  }

 private:
  void step() {
    if (stream_->avail_in == 0) refill();
    if (ended_) return;
    const int status = inflate(stream_.get(), Z_NO_FLUSH);
    in_member_ = true;
    if (status == Z_STREAM_END) {
      in_member_ = false;
      any_member_ = true;
      inflateReset(stream_.get());
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      // Tapes and some tools pad a file with zeros behind its last member.
      const bool is_padding = any_member_ && stream_->total_out == 0;
      if (!is_padding) fail(kCorrupt);
      ended_ = true;
    }
  }

  void refill() {
    const std::span<char> piece = next_piece();
    stream_->next_in = reinterpret_cast<Bytef*>(piece.data());
    stream_->avail_in = static_cast<uInt>(piece.size());
    if (!piece.empty()) return;
    ended_ = true;
    if (in_member_) fail(kCutShort);
  }

  std::unique_ptr<z_stream, EndInflate> stream_;
  bool in_member_ = false;
  bool any_member_ = false;
  bool ended_ = false;
};

struct FreeZstdStream {
  void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
};

class ZstdFile final : public Compressed {
 public:
  explicit ZstdFile(std::unique_ptr<PlainFile> file) : Compressed(std::move(file)), stream_(ZSTD_createDStream()) {
    if (!stream_) throw std::bad_alloc();
  }

  std::size_t read(std::span<char> into) override {
    ZSTD_outBuffer out{into.data(), into.size(), 0};
    while (out.pos < out.size && !ended_) step(out);
    return out.pos;
  }

 private:
  void step(ZSTD_outBuffer& out) {
    const bool was_empty = in_.pos == in_.size;
    if (was_empty) {
      const std::span<char> piece = next_piece();
      in_ = {piece.data(), piece.size(), 0};
    }
    const std::size_t before = out.pos;
    const std::size_t rest =
        was_empty && in_.size == 0 && rest_ == 0 ? 0 : ZSTD_decompressStream(stream_.get(), &out, &in_);
    if (ZSTD_isError(rest)) {
      fail(kCorrupt);
      ended_ = true;
    } else if (in_.size == 0 && out.pos == before) {
      ended_ = true;
      if (rest_ != 0) fail(kCutShort);
    } else {
      rest_ = rest;
    }
  }

  std::unique_ptr<ZSTD_DStream, FreeZstdStream> stream_;
  ZSTD_inBuffer in_{nullptr, 0, 0};
  std::size_t rest_ = 0;  ///< 0 exactly between two frames
  bool ended_ = false;
};

}  // namespace

ByteStream::ByteStream(const std::filesystem::path& path)
    : file_length_(length_of_file(path)), taken_(std::make_unique<std::atomic<std::uint64_t>>(0)) {
  auto file = std::make_unique<PlainFile>(path, *taken_);
  const std::string head(file->head());
  is_compressed_ = true;
  if (is_gzip(head)) {
    decoder_ = std::make_unique<GzipFile>(std::move(file));
  } else if (head == kZstdHead) {
    decoder_ = std::make_unique<ZstdFile>(std::move(file));
  } else {
    decoder_ = std::move(file);
    is_compressed_ = false;
  }
}

bool is_gzip(std::string_view head) { return head.starts_with(kGzipMagic); }

std::uint64_t length_of_file(const std::filesystem::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0)
    throw std::invalid_argument(
        errno == ENOENT ? fmt::format("{}: no such file; name one that is there", path.string())
                        : fmt::format("{}: cannot be read: {}; name a file", path.string(), std::strerror(errno)));
  if (S_ISDIR(status.st_mode))
    throw std::invalid_argument(path.string() + ": a directory, not a file; name a file in it");
  if (!S_ISREG(status.st_mode))
    throw std::invalid_argument(fmt::format(
        "{}: a pipe, socket or device, not a file; write what it gives to a file, and name that", path.string()));
  return static_cast<std::uint64_t>(status.st_size);
}

}  // namespace underlap::formats
