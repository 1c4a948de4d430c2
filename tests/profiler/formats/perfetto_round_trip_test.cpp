// SPDX-License-Identifier: Apache-2.0
#include "platform/errors.hpp"

#include <gmock/gmock.h>

#include <set>

#include "profiler/formats/format.hpp"
#include "profiler/formats/perfetto/reader.hpp"
#include "profiler/formats/perfetto/writer.hpp"
#include "tests/profiler/error_of.hpp"
#include "tests/profiler/file_size_limit.hpp"
#include "tests/profiler/random_trace.hpp"
#include "tests/profiler/slices.hpp"
#include "tests/profiler/temporary_folder.hpp"

namespace underlap::formats {
namespace {

using testing::ElementsAre;

using namespace testing_support;  // NOLINT

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
  PerfettoWriter writer(path_);
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
    PerfettoWriter writer(path_);
    writer.append(first);
    length = writer.bytes();
    writer.append(lost);
  }
  PerfettoWriter(path_, length).append(second);
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
  PerfettoWriter writer(folder / "t.pftrace");
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
  PerfettoWriter writer(folder / "t.pftrace");
  Trace block;
  block.add_track({0, 0, "compute"});
  block.add(slice_of(0, 0, 1));
  Trace negative = block, no_track = block, no_group = block;
  negative.add(slice_of(0, 5, -1));
  no_track.add(slice_of(1, 5, 1));
  no_group.add(slice_of(0, 5, 1), {.group = 0, .transfers = {}});
  for (const Trace& wrong : {negative, no_track, no_group}) EXPECT_THROW(writer.append(wrong), std::invalid_argument);
  EXPECT_EQ(writer.bytes(), 0);
  writer.append(block);
  EXPECT_EQ(everything(read_trace(folder / "t.pftrace")), everything(block));
}

TEST(PerfettoWriter, RefusesAnOffsetPastTheEndAndAFolderThatIsMissing) {
  const TemporaryFolder folder;
  write_text(folder / "t.pftrace", "12345");
  EXPECT_THROW(PerfettoWriter(folder / "t.pftrace", 6), std::invalid_argument);
  EXPECT_THROW(PerfettoWriter(folder / "none/t.pftrace"), MachineError);
  EXPECT_EQ(read_text(folder / "t.pftrace"), "12345");
}

TEST(PerfettoWriter, SaysWhatTheSystemRefused) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full on this system";
  std::mt19937 random(1);
  PerfettoWriter writer("/dev/full");
  EXPECT_THAT(error_of<MachineError>([&] { writer.append(random_trace(random)); }),
              ::testing::HasSubstr("No space left"));
}

TEST(PerfettoWriter, GoesOnAfterAWriteThatFailedHalfway) {
  const TemporaryFolder folder;
  const auto path = folder / "t.pftrace";
  std::mt19937 random(12);
  const Trace block = random_trace(random);
  PerfettoWriter writer(path);
  {
    const FileSizeLimit limit(3000);
    EXPECT_THROW(writer.append(block), MachineError);
  }
  EXPECT_EQ(writer.bytes(), 0);
  EXPECT_EQ(std::filesystem::file_size(path), 0U);
  writer.append(block);
  EXPECT_EQ(everything(read_trace(path)), everything(block));
}

class EarlierTrace : public testing::Test {
 protected:
  // The values of `field` in slices of that purpose.
  std::set<std::int32_t> values(const std::string& purpose, std::int32_t Tag::*field) const {
    std::set<std::int32_t> found;
    for (std::size_t i = 0; i < trace_.size(); ++i)
      if (name_of(trace_.tag(i).purpose) == purpose) found.insert(trace_.tag(i).*field);
    return found;
  }

  Trace trace_ = read_trace(UNDERLAP_TRACES_FOLDER "/bucket_and_chunk_in_one_number.pftrace.zst");
};

TEST_F(EarlierTrace, IsReadWholeAlthoughItHasNoChecksum) { EXPECT_EQ(trace_.import.num_skipped(), 0); }

TEST_F(EarlierTrace, HasBucketsOfDataParallelTransfersAndOfTheOptimizer) {
  EXPECT_THAT(values("grad_reduce_scatter", &Tag::bucket), ElementsAre(0, 1));
  EXPECT_THAT(values("grad_reduce_scatter", &Tag::chunk), ElementsAre(-1));
  EXPECT_THAT(values("adam", &Tag::bucket), ElementsAre(0, 1));
  EXPECT_THAT(values("adam", &Tag::chunk), ElementsAre(-1));
}

TEST_F(EarlierTrace, HasModelChunksOfPipelineTransfers) {
  EXPECT_THAT(values("send_forward", &Tag::chunk), ElementsAre(0, 1));
  EXPECT_THAT(values("send_forward", &Tag::bucket), ElementsAre(-1));
}

}  // namespace
}  // namespace underlap::formats
