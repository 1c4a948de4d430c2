// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/output_file.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <limits>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "platform/atomic_file.hpp"
#include "platform/errors.hpp"

namespace underlap::formats {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path) {
  throw MachineError(fmt::format("{}: cannot be written: {}", path.string(), system_reason(errno)));
}

struct FreeContext {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};

// One gzip stream; it holds no time, so equal traces are equal files.
class Gzip {
 public:
  Gzip() {
    constexpr int kLevel = 4;
    constexpr int kWindowBitsOfGzip = 15 + 16;
    constexpr int kMemory = 8;
    if (::deflateInit2(&stream_, kLevel, Z_DEFLATED, kWindowBitsOfGzip, kMemory, Z_DEFAULT_STRATEGY) != Z_OK)
      throw MachineError("gzip: out of memory");
  }
  ~Gzip() { ::deflateEnd(&stream_); }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;

  /// Hands what comes of `bytes` to `write`; with `ends`, the rest too.
  template <class Write>
  void compress(std::string_view bytes, bool ends, Write&& write) {
    while (!bytes.empty() || ends) {
      const std::size_t count = std::min<std::size_t>(bytes.size(), std::numeric_limits<uInt>::max());
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
      stream_.avail_in = static_cast<uInt>(count);
      bytes.remove_prefix(count);
      const int flush = ends && bytes.empty() ? Z_FINISH : Z_NO_FLUSH;
      do {
        stream_.next_out = reinterpret_cast<Bytef*>(buffer_.data());
        stream_.avail_out = static_cast<uInt>(buffer_.size());
        ::deflate(&stream_, flush);
        write(std::string_view(buffer_.data(), buffer_.size() - stream_.avail_out));
      } while (stream_.avail_out == 0);
      if (flush == Z_FINISH) return;
    }
  }

 private:
  z_stream stream_{};
  std::vector<char> buffer_ = std::vector<char>(std::size_t{1} << 18);
};

}  // namespace

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

struct OutputFile::State {
  std::filesystem::path path;
  std::filesystem::path temporary = {};
  bool is_zstd = false;
  std::optional<Gzip> gzip;
  File file;

  void write_plain(std::string_view bytes) const {
    if (std::fwrite(bytes.data(), 1, bytes.size(), file.get()) != bytes.size()) fail(path);
  }
};

OutputFile::OutputFile(const std::filesystem::path& path)
    : state_(new State{.path = path, .is_zstd = path.extension() == ".zst", .gzip = std::nullopt, .file = nullptr}) {
  if (path.extension() == ".gz") state_->gzip.emplace();
  TemporaryFile temporary = create_temporary_file(path);
  state_->temporary = std::move(temporary.path);
  state_->file.reset(::fdopen(temporary.file.get(), "wb"));
  if (!state_->file) fail(path);
  temporary.file.release();  // the stream's from here on
}

OutputFile::~OutputFile() {
  if (!state_->file) return;
  std::error_code ignored;
  std::filesystem::remove(state_->temporary, ignored);
}

void OutputFile::write(std::string_view bytes) {
  const auto plain = [this](std::string_view piece) { state_->write_plain(piece); };
  if (state_->gzip)
    state_->gzip->compress(bytes, false, plain);
  else if (state_->is_zstd)
    plain(zstd_frame(bytes));
  else
    plain(bytes);
}

void OutputFile::close() {
  State& s = *state_;
  if (s.gzip) s.gzip->compress({}, true, [&](std::string_view piece) { s.write_plain(piece); });
  if (std::fflush(s.file.get()) != 0 || ::fsync(::fileno(s.file.get())) != 0) fail(s.path);
  if (std::rename(s.temporary.c_str(), s.path.c_str()) != 0) fail(s.path);
  s.file.reset();
}

}  // namespace underlap::formats
