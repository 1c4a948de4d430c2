// SPDX-License-Identifier: Apache-2.0
#include "platform/input/byte_stream.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

#include "platform/errors.hpp"
#include "platform/file_descriptor.hpp"
#include "platform/suggestion.hpp"

namespace underlap {
namespace {

constexpr std::string_view kZstdMagic{"\x28\xB5\x2F\xFD", 4};
constexpr std::string_view kGzipMagic{"\x1F\x8B", 2};
constexpr std::size_t kLongestFrameHeader = 18;  // of zstd
constexpr std::size_t kPieceBytes = std::size_t{1} << 18;

[[noreturn]] void refuse(const std::filesystem::path& file, std::string_view why) {
  throw std::invalid_argument(fmt::format("{}: {}", file.string(), why));
}

/// Somebody else's end of it is open already, so that reading comes to an end.
bool is_given_pipe(const std::filesystem::path& file) {
  const std::string name = file.string();
  return name == "/dev/stdin" || name.starts_with("/dev/fd/") || name.starts_with("/proc/self/fd/");
}

/// Suggests a similar name in the file's folder, or asks for one that exists.
std::string similar_name(const std::filesystem::path& file) {
  constexpr std::size_t kMost = 1000;
  std::vector<std::string> names;
  std::error_code error;
  const auto folder = file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end && names.size() < kMost;
       at.increment(error))
    if (at->path().filename() != file.filename()) names.push_back(at->path().filename().string());  // it leads nowhere
  const std::filesystem::path before = file.has_parent_path() ? folder / "" : "";
  const std::string suggestion = did_you_mean(file.filename().string(), names, before.string());
  return suggestion.empty() ? "; check the path" : suggestion;
}

void check_kind(const std::filesystem::path& file, mode_t mode, GivenPipes given_pipes) {
  if (S_ISREG(mode)) return;
  if (S_ISDIR(mode)) refuse(file, "a folder, not a file; name a file in it");
  if (S_ISFIFO(mode) && is_given_pipe(file)) {
    if (given_pipes == GivenPipes::read) return;
    refuse(file, "a pipe, not a file; write its output to a file and name that file");
  }
  if (S_ISFIFO(mode)) refuse(file, "a named pipe, not a file: it may never have a writer; name a file");
  if (S_ISSOCK(mode)) refuse(file, "a socket, not a file; name a file");
  refuse(file, "a device, not a file; name a file");
}

struct OpenFile {
  FileDescriptor file;
  std::uint64_t length = 0;
};

OpenFile open_file(const std::filesystem::path& path, GivenPipes given_pipes) {
  // Without O_NONBLOCK, opening a named pipe without a writer would block before its type is known.
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!file)
    refuse(path, errno == ENOENT || errno == ENOTDIR
                     ? "no such file" + similar_name(path)
                     : fmt::format("cannot be opened for reading: {}; choose another file", system_reason(errno)));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) refuse(path, system_reason(errno));
  check_kind(path, status.st_mode, given_pipes);
  ::fcntl(file.get(), F_SETFL, 0);
  return {std::move(file), S_ISREG(status.st_mode) ? static_cast<std::uint64_t>(status.st_size) : 0};
}

// The file itself. Its first bytes are read at once: they show what it is.
class PlainFile final : public Decoder {
 public:
  /// `taken` outlives this, and counts the bytes that were read.
  PlainFile(std::filesystem::path path, FileDescriptor file, std::atomic<std::uint64_t>& taken)
      : path_(std::move(path)), file_(std::move(file)), taken_(taken), head_(kLongestFrameHeader, '\0') {
    head_.resize(read_file(head_));
    if (error_ != 0) refuse(path_, fmt::format("cannot be read: {}; choose another file", system_reason(error_)));
  }

  std::string_view head() const { return head_; }

  std::size_t read(std::span<char> into) override {
    const std::size_t from_head = std::min(into.size(), head_.size() - head_used_);
    std::copy_n(head_.data() + head_used_, from_head, into.data());
    head_used_ += from_head;
    const std::size_t count = from_head + read_file(into.subspan(from_head));
    if (error_ != 0) throw MachineError(fmt::format("{}: cannot be read: {}", path_.string(), system_reason(error_)));
    return count;
  }

 private:
  std::size_t read_file(std::span<char> into) {
    std::size_t done = 0;
    while (done < into.size()) {
      const ssize_t count = ::read(file_.get(), into.data() + done, into.size() - done);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) error_ = errno;
      if (count <= 0) break;
      done += static_cast<std::size_t>(count);
    }
    taken_.fetch_add(done, std::memory_order_relaxed);
    return done;
  }

  std::filesystem::path path_;
  FileDescriptor file_;
  std::atomic<std::uint64_t>& taken_;
  int error_ = 0;
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
constexpr std::string_view kCutShort = "compressed data is truncated";

struct EndInflate {
  void operator()(z_stream* stream) const {
    inflateEnd(stream);
    delete stream;
  }
};

// A gzip file may have several members, one after the other. Data after the last member is ignored.
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
      // Tapes and some tools pad a file with zeros after its last member.
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

// Four bytes unpack to 128 KiB at most: a header that states more than the file can hold is wrong.
std::uint64_t length_by_header(std::string_view head, std::uint64_t file_length) {
  const auto length = ZSTD_getFrameContentSize(head.data(), head.size());
  const bool is_stated = length != ZSTD_CONTENTSIZE_UNKNOWN && length != ZSTD_CONTENTSIZE_ERROR;
  return is_stated && length >> 15 <= file_length ? length : 0;
}

}  // namespace

ByteStream::ByteStream(const std::filesystem::path& path, GivenPipes given_pipes)
    : path_(path), taken_(std::make_unique<std::atomic<std::uint64_t>>(0)) {
  OpenFile opened = open_file(path, given_pipes);
  file_length_ = opened.length;
  auto file = std::make_unique<PlainFile>(path, std::move(opened.file), *taken_);
  const std::string head(file->head());
  is_compressed_ = true;
  if (head.starts_with(kGzipMagic)) {
    decoder_ = std::make_unique<GzipFile>(std::move(file));
  } else if (head.starts_with(kZstdMagic)) {
    stated_length_ = length_by_header(head, file_length_);
    decoder_ = std::make_unique<ZstdFile>(std::move(file));
  } else {
    stated_length_ = file_length_;
    decoder_ = std::move(file);
    is_compressed_ = false;
  }
}

}  // namespace underlap
