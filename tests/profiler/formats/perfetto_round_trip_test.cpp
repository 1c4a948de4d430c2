// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>

#include "platform/errors.hpp"
#include "profiler/formats/format.hpp"
#include "profiler/formats/perfetto_reader.hpp"
#include "profiler/formats/perfetto_writer.hpp"
#include "tests/profiler/random_trace.hpp"
#include "tests/profiler/temporary_folder.hpp"

namespace underlap::formats {
namespace {

using underlap::testing_support::everything;
using underlap::testing_support::random_trace;
using underlap::testing_support::TemporaryFolder;

class PerfettoRoundTrip : public ::testing::TestWithParam<const char*> {
 protected:
  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_ / GetParam();
};

INSTANTIATE_TEST_SUITE_P(Files, PerfettoRoundTrip, ::testing::Values("t.pftrace", "t.pftrace.zst"),
                         [](const auto& file) { return file.index == 0 ? "Plain" : "Compressed"; });

TEST_P(PerfettoRoundTrip, KeepsEverythingOfRandomTraces) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    const Trace written =
        random_trace(random, {.num_slices = static_cast<std::int32_t>(seed * 2), .is_foreign = seed % 3 != 0});
    write_trace(path_, written);
    const Trace read = read_trace(path_);
    ASSERT_EQ(everything(read), everything(written)) << "seed " << seed;
    EXPECT_EQ(read.import.num_skipped(), 0);
    EXPECT_EQ(read.import.events,
              static_cast<std::int64_t>(written.size() + written.marks.size() + written.counters.size()));
  }
}

TEST_P(PerfettoRoundTrip, SeveralBlocksReadAsOneTrace) {
  std::mt19937 random(7);
  Trace sum;
  PerfettoWriter writer(path_, WriteAt::create());
  for (int block = 0; block < 5; ++block) {
    const Trace trace = random_trace(random, {.num_streams = 1 + block % 3, .is_foreign = block % 2 == 1});
    writer.append(trace);
    sum.append(trace);
    EXPECT_EQ(everything(read_trace(path_)), everything(sum)) << "block " << block;
    EXPECT_EQ(writer.bytes(), static_cast<std::int64_t>(std::filesystem::file_size(path_)));
  }
}

TEST_P(PerfettoRoundTrip, GoesOnAtAFormerLength) {
  std::mt19937 random(8);
  const Trace first = random_trace(random);
  const Trace lost = random_trace(random);
  const Trace second = random_trace(random, {.num_streams = 5});
  std::int64_t length = 0;
  {
    PerfettoWriter writer(path_, WriteAt::create());
    writer.append(first);
    length = writer.bytes();
    writer.append(lost);
  }
  PerfettoWriter(path_, WriteAt::append_at(length)).append(second);
  Trace sum;
  sum.append(first);
  sum.append(second);
  const Trace read = read_trace(path_);
  EXPECT_EQ(everything(read), everything(sum));
  EXPECT_EQ(read.import.num_skipped(), 0);
}

TEST_P(PerfettoRoundTrip, KeepsAMegabyteThatCompressesToNothing) {
  Trace trace;
  trace.metadata["config"] = std::string(3'000'000, 'a');
  write_trace(path_, trace);
  const Trace read = read_trace(path_);
  EXPECT_EQ(read.metadata, trace.metadata);
  EXPECT_EQ(read.import.num_skipped(), 0);
}

TEST_P(PerfettoRoundTrip, EmptyTraceReadsAsEmpty) {
  write_trace(path_, Trace{});
  EXPECT_EQ(everything(read_trace(path_)), everything(Trace{}));
}

TEST(PerfettoWriter, LaterMetadataReplacesTheEarlier) {
  const TemporaryFolder folder;
  PerfettoWriter writer(folder / "t.pftrace", WriteAt::create());
  Trace block;
  block.metadata = {{"link", "real"}, {"backend", "host"}};
  writer.append(block);
  block.metadata["link"] = "paced";
  writer.append(block);
  const Trace read = read_trace(folder / "t.pftrace");
  EXPECT_EQ(read.metadata.at("link"), "paced");
  EXPECT_EQ(read.metadata.at("backend"), "host");
}

TEST(PerfettoWriter, RefusesABlockThatItCannotWriteAndWritesNothing) {
  const TemporaryFolder folder;
  PerfettoWriter writer(folder / "t.pftrace", WriteAt::create());
  Trace block;
  block.add_track({0, 0, "compute"});
  block.add({.track = 0, .start_ns = 0, .duration_ns = 1, .tag = {}});
  Trace negative = block;
  negative.add({.track = 0, .start_ns = 5, .duration_ns = -1, .tag = {}});
  Trace no_track = block;
  no_track.add({.track = 1, .start_ns = 5, .duration_ns = 1, .tag = {}});
  Trace no_group = block;
  no_group.add({.track = 0, .start_ns = 5, .duration_ns = 1, .tag = {}}, {.group = 0, .transfers = {}});
  for (const Trace& wrong : {negative, no_track, no_group}) EXPECT_THROW(writer.append(wrong), std::invalid_argument);
  EXPECT_EQ(writer.bytes(), 0);
  writer.append(block);
  EXPECT_EQ(everything(read_trace(folder / "t.pftrace")), everything(block));
}

TEST(PerfettoWriter, RefusesAnOffsetPastTheEndAndAFolderThatIsMissing) {
  const TemporaryFolder folder;
  testing_support::write_text(folder / "t.pftrace", "12345");
  EXPECT_THROW(PerfettoWriter(folder / "t.pftrace", WriteAt::append_at(6)), std::invalid_argument);
  EXPECT_THROW(PerfettoWriter(folder / "none/t.pftrace", WriteAt::create()), MachineError);
  EXPECT_EQ(testing_support::read_text(folder / "t.pftrace"), "12345");
}

TEST(PerfettoWriter, SaysWhatTheSystemRefused) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full on this system";
  std::mt19937 random(1);
  PerfettoWriter writer("/dev/full", WriteAt::create());
  try {
    writer.append(random_trace(random));
    FAIL() << "a full device took the block";
  } catch (const MachineError& error) {
    EXPECT_NE(std::string(error.what()).find("No space left"), std::string::npos) << error.what();
  }
}

// No file of this process may grow past a length while it lives.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(std::int64_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    rlimit limit = before_;
    limit.rlim_cur = static_cast<rlim_t>(bytes);
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

TEST(PerfettoWriter, GoesOnAfterAWriteThatFailedHalfway) {
  const TemporaryFolder folder;
  const auto path = folder / "t.pftrace";
  std::mt19937 random(12);
  const Trace block = random_trace(random);
  PerfettoWriter writer(path, WriteAt::create());
  {
    const FileSizeLimit limit(3000);
    EXPECT_THROW(writer.append(block), MachineError);
  }
  EXPECT_EQ(writer.bytes(), 0);
  EXPECT_EQ(std::filesystem::file_size(path), 0U);
  writer.append(block);
  EXPECT_EQ(everything(read_trace(path)), everything(block));
}

}  // namespace
}  // namespace underlap::formats
