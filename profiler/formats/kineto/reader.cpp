// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/kineto/reader.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "platform/input/byte_stream.hpp"
#include "profiler/formats/kineto/builder.hpp"
#include "profiler/formats/kineto/header.hpp"
#include "profiler/formats/kineto/own_reader.hpp"
#include "profiler/formats/kineto/own_tags.hpp"
#include "profiler/formats/kineto/pipeline.hpp"
#include "profiler/formats/kineto/splitter.hpp"
#include "profiler/formats/read_ahead.hpp"

namespace underlap::formats {
namespace {

double gigabytes(std::int64_t bytes) { return static_cast<double>(bytes) / 1e9; }

// What a slice takes while the trace grows: columns are there twice for a moment.
constexpr std::int64_t kSliceBytes = 100;

// As much as stays in a processor's cache while it is read.
constexpr std::size_t kBlockBytes = std::size_t{1} << 20;

class Reader {
 public:
  Reader(KinetoSplitter::Read read, std::string origin, Reading& reading, std::int64_t free_memory,
         KinetoDialect* dialect)
      : origin_(std::move(origin)),
        reading_(reading),
        free_memory_(free_memory),
        dialect_(dialect),
        splitter_(std::move(read), kBlockBytes) {}

  Trace read() {
    for (auto found = splitter_.next(); found != KinetoSplitter::Found::end; found = splitter_.next()) {
      if (found == KinetoSplitter::Found::member && splitter_.key() == kineto::kOwnKey && dialect_ == nullptr &&
          builder_.trace().size() == 0) {
        if (auto own = kineto::read_own_header(splitter_.value(), origin_))
          return read_own_events(splitter_, std::move(*own), header_.base_ns, origin_, reading_, free_memory_);
        builder_.skip("unreadable Underlap tags");
      } else if (found == KinetoSplitter::Found::member)
        take_member();
      else
        pipeline_.add(splitter_.take_batch());
    }
    pipeline_.finish();
    if (!splitter_.is_json()) throw std::invalid_argument(fmt::format("{}: not JSON; {}", origin_, advice()));
    if (!splitter_.fault().empty()) builder_.skip(splitter_.fault());
    if (splitter_.num_torn() > 0) builder_.skip("event with unbalanced quotes", splitter_.num_torn());
    if (builder_.trace().import.events == 0)
      throw std::invalid_argument(fmt::format("{}: JSON without trace events; {}", origin_, advice()));
    Trace trace = builder_.finish(header_, reading_);
    if (dialect_ == nullptr) return trace;
    if (const std::string refusal = dialect_->refusal(trace); !refusal.empty())
      throw std::invalid_argument(fmt::format("{}: {}", origin_, refusal));
    reading_.show(trace);  // a dialect may add slices at the end
    return trace;
  }

  void skip(const std::string& fault) { builder_.skip(fault); }

 private:
  std::string_view advice() const {
    return dialect_ == nullptr ? "give a trace written by the PyTorch profiler" : dialect_->advice();
  }

  void take_member() {
    if (const std::string_view fault = header_.take(splitter_.key(), splitter_.value()); !fault.empty())
      builder_.skip(fault);
  }

  void hand_over(KinetoPipeline::Job& job) {
    builder_.add(job.events);
    reading_.show(builder_.trace());
    splitter_.recycle(std::move(job.batch.buffer));
    const auto slices = static_cast<std::int64_t>(builder_.trace().size());
    if (slices > free_memory_ / kSliceBytes)
      throw std::invalid_argument(fmt::format(
          "{}: its trace needs more than {:.3g} GB of memory, but {:.3g} GB are free; read it on a machine with more",
          origin_, gigabytes(slices * kSliceBytes), gigabytes(free_memory_)));
  }

  std::string origin_;
  Reading& reading_;
  std::int64_t free_memory_;
  KinetoDialect* dialect_;
  KinetoHeader header_;
  KinetoSplitter splitter_;
  KinetoPipeline pipeline_{[this](KinetoPipeline::Job& job) { hand_over(job); }, dialect_ != nullptr};
  KinetoBuilder builder_{pipeline_.lanes(), dialect_};
};

// Kineto writes some 300 bytes an event, and no tool less than a third of that.
void require_room_for_events(const std::filesystem::path& path, std::uint64_t file_length, std::int64_t free_memory) {
  constexpr std::uint64_t kBytesOfTextPerByte = 4;
  if (file_length / kBytesOfTextPerByte <= static_cast<std::uint64_t>(free_memory)) return;
  throw std::invalid_argument(
      fmt::format("{}: a trace of {:.3g} GB needs a quarter of that in memory, but {:.3g} GB are free; read it on a "
                  "machine with more",
                  path.string(), static_cast<double>(file_length) / 1e9, gigabytes(free_memory)));
}

// Each block that is read reports the progress in the file.
Trace read_events(const std::filesystem::path& path, Reading& reading, KinetoDialect* dialect,
                  std::int64_t free_memory) {
  ByteStream stream(path);
  const auto read_and_report = [&](auto& from, std::span<char> into) {
    reading.at(stream.bytes_taken(), stream.file_length());
    return from.read(into);
  };
  require_room_for_events(path, stream.file_length(), free_memory);
  if (!stream.is_compressed()) {
    Reader reader([&](std::span<char> into) { return read_and_report(stream, into); }, path.string(), reading,
                  free_memory, dialect);
    return reader.read();
  }
  Trace trace;
  {
    ReadAhead ahead(stream);
    Reader reader([&](std::span<char> into) { return read_and_report(ahead, into); }, path.string(), reading,
                  free_memory, dialect);
    trace = reader.read();
  }
  if (const std::string fault = stream.fault(); !fault.empty()) ++trace.import.skipped[fault];
  return trace;
}

}  // namespace

Trace read_kineto(const std::filesystem::path& path, std::int64_t free_memory) {
  Reading unwatched;
  return read_kineto(path, unwatched, free_memory);
}

Trace read_kineto(const std::filesystem::path& path, Reading& reading, std::int64_t free_memory) {
  return read_events(path, reading, nullptr, free_memory);
}

Trace read_chrome_trace(const std::filesystem::path& path, Reading& reading, KinetoDialect& dialect,
                        std::int64_t free_memory) {
  return read_events(path, reading, &dialect, free_memory);
}

}  // namespace underlap::formats
