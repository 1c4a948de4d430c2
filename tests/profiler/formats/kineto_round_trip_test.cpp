// SPDX-License-Identifier: Apache-2.0
// Our own Kineto files, read back.
#include <gmock/gmock.h>

#include <algorithm>
#include <tuple>

#include "profiler/formats/format.hpp"
#include "profiler/formats/kineto_writer/writer.hpp"
#include "tests/profiler/error_of.hpp"
#include "tests/profiler/formats/kineto_text.hpp"
#include "tests/profiler/random_trace.hpp"
#include "tests/profiler/slices.hpp"
#include "tests/profiler/temporary_folder.hpp"

namespace underlap::formats {
namespace {

using namespace testing_support;  // NOLINT

// Flows come back by the slice that they end in.
Trace with_sorted_flows(Trace trace) {
  const auto key = [](const Flow& flow) { return std::tuple(flow.from, flow.to, flow.kind); };
  std::ranges::sort(trace.flows, {}, key);
  return trace;
}

std::string kineto_text(const Trace& trace) {
  const TemporaryFolder folder;
  write_kineto(folder / "t.json", trace);
  return read_text(folder / "t.json");
}

TEST(KinetoRoundTrip, KeepsEverythingOfOneRank) {
  const TemporaryFolder folder;
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    const Trace written = random_trace(
        random, {.num_ranks = 1, .num_slices = static_cast<std::int32_t>(seed * 2), .is_foreign = seed % 3 != 0});
    const auto path = folder / (seed % 2 == 0 ? "t.json" : "t.json.gz");
    write_trace(path, written);
    const Trace read = read_trace(path);
    ASSERT_EQ(everything(with_sorted_flows(read)), everything(with_sorted_flows(written))) << "seed " << seed;
    EXPECT_EQ(read.import.num_skipped(), 0);
    EXPECT_EQ(read.import.events,
              static_cast<std::int64_t>(written.size() + written.marks.size() + written.counters.size()));
  }
}

TEST(KinetoRoundTrip, KeepsTimesOfAnUnixClockToTheNanosecond) {
  Trace trace;
  trace.add_track({0, 0, "compute"});
  for (const std::int64_t start : {1'700'000'000'123'456'789, 1'700'000'000'123'456'790})
    trace.add(slice_of(0, start, 1, "gemm"));
  trace.clocks = {{0, 1'700'000'000'000'000'000, 1'700'000'000'000'000'007}};
  EXPECT_EQ(everything(read_kineto_text(kineto_text(trace))), everything(trace));
}

TEST(KinetoRoundTrip, KeepsAllSlicesOfSeveralRanks) {
  const TemporaryFolder folder;
  std::mt19937 random(31);
  const Trace written = random_trace(random, {.num_ranks = 3});
  write_trace(folder / "t.json", written);
  Trace read;
  for (const auto& file : written_files(folder / "t.json", written)) read.append(read_trace(file));
  EXPECT_EQ(read.size(), written.size());
  EXPECT_EQ(read.marks.size(), written.marks.size());
  EXPECT_EQ(read.tracks.size(), written.tracks.size());
  EXPECT_EQ(read.metadata, written.metadata);
}

// What HTA and other tools are told must be right as well.
TEST(KinetoRoundTrip, WithoutOurTagsItIsAnyKinetoFile) {
  Trace trace;
  trace.add_track({4, 0, "compute"});
  trace.add_track({4, 3, "dp"});
  trace.add_group({intern("gather"), {0, 4}, intern("9"), intern("DATA_PARALLEL_GROUP")});
  trace.add(slice_of(0, 5'000, 70, "gemm"));
  trace.add(slice_of(1, 5'010, 20, "gather", {.kind = Kind::communication}),
            {.group = 0,
             .sequence = 2,
             .transfers = {{.collective = Collective::all_gather, .dtype = DataType::bf16, .bytes = 64}}});
  std::string text = kineto_text(trace);
  for (std::size_t at = text.find("\"underlap\""); at != std::string::npos; at = text.find("\"underlap\"", at))
    text[at + 1] = 'U';
  const Trace read = read_kineto_text(text);
  EXPECT_EQ(read.import.num_skipped(), 0);
  std::size_t num_work = 0;
  for (std::size_t i = 0; i < read.size(); ++i) {
    if (read.track_of(i).kind != TrackKind::stream) continue;
    ++num_work;
    EXPECT_EQ(read.track_of(i).rank, 4);
    EXPECT_EQ(read.attribution(i).source, AttributionSource::none);
    const CommunicationRecord* record = read.communication(i);
    ASSERT_EQ(record != nullptr, read.track_of(i).stream == 3);
    if (record == nullptr) continue;
    EXPECT_EQ(name_of(read.name(i)), "ncclDevKernel_AllGather(gather)");
    EXPECT_EQ(name_of(read.groups[record->group].description), "DATA_PARALLEL_GROUP");
    ASSERT_EQ(record->transfers.size(), 1U);
    EXPECT_EQ(record->transfers[0].collective, Collective::all_gather);
    EXPECT_EQ(record->transfers[0].bytes, 64);
  }
  EXPECT_EQ(num_work, 2U);
  EXPECT_EQ(std::ranges::count(read.flows, FlowKind::launch, &Flow::kind), 2);
}

TEST(KinetoRoundTrip, CountsABrokenLineAndKeepsTheOthers) {
  std::mt19937 random(32);
  const Trace written = random_trace(random, {.num_ranks = 1, .num_slices = 40, .is_foreign = true});
  std::string text = kineto_text(written);
  const std::size_t slice = text.find("\"track\":", text.size() / 2);
  text[slice + 7] = ' ';
  const Trace read = read_kineto_text(text);
  EXPECT_EQ(read.import.skipped.at("event that is not a JSON object"), 1);
  EXPECT_EQ(read.size() + 1, written.size());
  for (const Flow& flow : read.flows) EXPECT_LT(std::max(flow.from, flow.to), read.size());
}

TEST(KinetoRoundTrip, SurvivesAnyWrongByte) {
  std::mt19937 random(34);
  const std::string text = kineto_text(random_trace(random, {.num_ranks = 1, .num_slices = 12, .is_foreign = true}));
  const std::string_view kBytes = "\"0-}{][,:x\x01\xFF";
  for (int mutation = 0; mutation < 1000; ++mutation) {
    std::string bytes = text;
    bytes[random() % bytes.size()] = kBytes[random() % kBytes.size()];
    error_of([&] { EXPECT_TRUE(is_sound(read_kineto_text(bytes))) << mutation; });
  }
}

TEST(KinetoRoundTrip, RefusesANewerSchema) {
  std::mt19937 random(35);
  std::string text = kineto_text(random_trace(random, {.num_ranks = 1}));
  text.replace(text.find("underlap.kineto/1"), 17, "underlap.kineto/2");
  EXPECT_THROW(read_kineto_text(text), std::invalid_argument);
}

TEST(KinetoRoundTrip, WithATagThatCannotBeReadItIsAnyKinetoFile) {
  std::mt19937 random(36);
  std::string text = kineto_text(random_trace(random, {.num_ranks = 1}));
  text.replace(text.find("\"clock_offset_ns\""), 17, "\"clock_offset_nx\"");
  const Trace read = read_kineto_text(text);
  EXPECT_EQ(read.import.skipped.at("unreadable Underlap tags"), 1);
  EXPECT_GT(read.size(), 0U);
}

}  // namespace
}  // namespace underlap::formats
