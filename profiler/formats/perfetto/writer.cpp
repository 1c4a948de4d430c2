// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/perfetto/writer.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <stdexcept>

#include "platform/errors.hpp"
#include "profiler/formats/output_file.hpp"
#include "profiler/formats/perfetto/encoder.hpp"

namespace underlap::formats {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, std::string_view what) {
  throw MachineError(fmt::format("{}: cannot {}: {}", path.string(), what, system_reason(errno)));
}

}  // namespace

struct PerfettoWriter::State {
  std::filesystem::path path;
  File file;
  bool compressed = false;
  std::int64_t bytes = 0;
  PerfettoEncoder encoder;

  State(const std::filesystem::path& where, bool create)
      : path(where), file(std::fopen(where.c_str(), create ? "wb" : "r+b")), compressed(where.extension() == ".zst") {
    if (!file) fail(path, "be opened for writing");
    std::setvbuf(file.get(), nullptr, _IONBF, 0);  // a block goes to the system in one piece, before append returns
  }

  // Truncates the file to `length` and continues there.
  bool cut(std::int64_t length) {
    return ::ftruncate(::fileno(file.get()), length) == 0 && ::fseeko(file.get(), length, SEEK_SET) == 0;
  }
};

PerfettoWriter::PerfettoWriter(const std::filesystem::path& path, std::optional<std::int64_t> append_at)
    : state_(std::make_unique<State>(path, !append_at)) {
  if (!append_at) return;
  const auto length = static_cast<std::int64_t>(std::filesystem::file_size(path));
  if (*append_at < 0 || *append_at > length)
    throw std::invalid_argument(
        fmt::format("{}: cannot continue at byte {}: the file has {} bytes", path.string(), *append_at, length));
  if (!state_->cut(*append_at)) fail(path, "be cut");
  state_->bytes = *append_at;
}

PerfettoWriter::~PerfettoWriter() = default;
PerfettoWriter::PerfettoWriter(PerfettoWriter&&) noexcept = default;
PerfettoWriter& PerfettoWriter::operator=(PerfettoWriter&&) noexcept = default;

void PerfettoWriter::append(const Trace& block) {
  State& s = *state_;
  std::string bytes = s.encoder.encode(block);
  if (s.compressed) bytes = zstd_frame(bytes);
  if (std::fwrite(bytes.data(), 1, bytes.size(), s.file.get()) != bytes.size()) {
    const int reason = errno;
    s.encoder.forget();
    s.cut(s.bytes);  // the file is readable even where this fails: a reader stops at the broken packet
    errno = reason;
    fail(s.path, "be written");
  }
  s.bytes += static_cast<std::int64_t>(bytes.size());
}

std::int64_t PerfettoWriter::bytes() const { return state_->bytes; }

}  // namespace underlap::formats
