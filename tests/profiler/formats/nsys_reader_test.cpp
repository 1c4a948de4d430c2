// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>

#include <limits>

#include "profiler/formats/format.hpp"
#include "tests/profiler/formats/nsys_file.hpp"
#include "tests/profiler/slices.hpp"

namespace underlap::formats {
namespace {

using namespace ::testing;        // NOLINT
using namespace testing_support;  // NOLINT

std::vector<std::string> reasons(const Trace& trace) {
  std::vector<std::string> texts;
  for (const auto& [reason, count] : trace.import.skipped) texts.push_back(reason);
  return texts;
}

class NsysSchemas : public ::testing::TestWithParam<NsysFile::Schema> {};

TEST_P(NsysSchemas, HoldKernelsCopiesCallsAndRanges) {
  const Trace trace = read_nsys(
      [](NsysFile& file) {
        file.kernel({.start = 100, .end = 200, .correlation = 1, .name = "void gemm<float>(int)"});
        file.copy({.start = 210, .end = 220, .correlation = 2, .bytes = 4096}, /*copy_kind=*/1);
        file.memset({.start = 230, .end = 240, .correlation = 3, .bytes = 64});
        file.call({.start = 50, .end = 60, .correlation = 1});
        file.range({.start = 40, .end = 70, .text = "forward"});
      },
      GetParam());
  EXPECT_THAT(reasons(trace), ElementsAre());
  EXPECT_EQ(trace.import.events, 5);
  EXPECT_THAT(names_of(trace), ElementsAre("void gemm<float>(int)", "Memcpy HtoD (Device -> Device)", "Memset",
                                           "cudaLaunchKernel", "forward"));
  EXPECT_EQ(trace.slice(0).shape, (LaunchShape{{4, 2, 1}, {128, 1, 1}, 0}));
  EXPECT_EQ(trace.slice(1).shape.bytes, 4096);
  EXPECT_EQ(trace.tag(0).kind, Kind::compute);
  EXPECT_EQ(trace.tag(1).kind, Kind::copy);
  EXPECT_EQ(trace.tag(2).kind, Kind::copy);
  EXPECT_EQ(trace.tag(3).kind, Kind::none);
  EXPECT_EQ(trace.attribution(0), kNotAttributed);
  EXPECT_EQ(trace.track_of(0), (Track{0, 7, "stream 7", TrackKind::stream, 0}));
  EXPECT_EQ(trace.track_of(3), (Track{0, 100, "thread 100", TrackKind::thread, -1}));
  EXPECT_EQ(trace.track_of(4), (Track{0, 100, "NVTX", TrackKind::range, -1}));
  EXPECT_THAT(trace.flows, ElementsAre(Flow{3, 0, FlowKind::launch}));
  EXPECT_EQ(trace.metadata.at("format"), "nsys");
}

INSTANTIATE_TEST_SUITE_P(Versions, NsysSchemas,
                         ::testing::Values(NsysFile::Schema::v2_3, NsysFile::Schema::v3_11, NsysFile::Schema::v3_25));

TEST(NsysReader, JoinsWorkToTheCallsOfItsOwnProcess) {
  const Trace trace = read_nsys([](NsysFile& file) {
    file.kernel({.start = 100, .end = 200, .device = 0, .correlation = 5, .pid = 100, .name = "a"});
    file.kernel({.start = 100, .end = 200, .device = 1, .correlation = 5, .pid = 200, .name = "b"});
    file.call({.start = 30, .end = 40, .correlation = 5, .pid = 200, .tid = 200, .name = "of b"});
    file.call({.start = 10, .end = 20, .correlation = 5, .pid = 100, .tid = 100, .name = "of a"});
  });
  EXPECT_THAT(trace.flows, UnorderedElementsAre(Flow{slice_named(trace, "of a"), 0, FlowKind::launch},
                                                Flow{slice_named(trace, "of b"), 1, FlowKind::launch}));
}

TEST(NsysReader, JoinsWorkOfWhichNothingSaysWhoseItIsToTheOneProcess) {
  const Trace trace = read_nsys([](NsysFile& file) {
    file.kernel({.start = 100, .end = 200, .correlation = 5});
    file.call({.start = 10, .end = 20, .correlation = 5});
    file.run("ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN globalPid");
  });
  EXPECT_THAT(reasons(trace), ElementsAre());
  EXPECT_THAT(trace.flows, ElementsAre(Flow{1, 0, FlowKind::launch}));
  for (const Track& track : trace.tracks) EXPECT_EQ(track.rank, 0);
}

TEST(NsysReader, FindsCallsWhateverTheirOrder) {
  const Trace trace = read_nsys([](NsysFile& file) {
    for (std::int64_t i = 0; i < 300; ++i) {
      const std::int64_t mixed = i * 7919 % 300;
      file.kernel({.start = 1000 + i, .end = 1001 + i, .correlation = 1 + mixed});
      file.call({.start = mixed, .end = mixed + 1, .correlation = 1 + mixed});
    }
  });
  ASSERT_EQ(trace.flows.size(), 300U);
  for (const Flow& flow : trace.flows)
    EXPECT_EQ(trace.start_ns()[flow.from], static_cast<std::int64_t>(flow.to) * 7919 % 300);
}

TEST(NsysReader, KeepsRangesOfDomainsAndStartedRangesApart) {
  const Trace trace = read_nsys([](NsysFile& file) {
    file.kernel({.start = 100, .end = 200});
    file.range({.start = 1, .end = 50, .text = "pushed"});
    file.range({.start = 2, .end = 60, .text = "started", .type = 60});
    file.range({.start = 3, .text = "mark", .type = 34});
    file.range({.start = 4, .end = 5, .text = "of TE", .domain = 3, .registered = true});
    file.range({.start = 0, .text = "TransformerEngine", .type = 75, .domain = 3});
    file.range({.start = 6, .end = 7, .text = "aten::empty, op_id = 990346"});
    file.range({.start = 8, .end = 9, .text = "aten::add_, seq = 12, op_id = 3, sizes = [[2, 2]]"});
  });
  EXPECT_THAT(names_of(trace), ElementsAre("gemm", "pushed", "started", "mark", "of TE", "aten::empty", "aten::add_"));
  const auto row = [&](std::string_view name) { return trace.track_of(slice_named(trace, name)).name; };
  EXPECT_EQ(row("pushed"), "NVTX");
  EXPECT_EQ(row("mark"), "NVTX");
  EXPECT_EQ(row("started"), "NVTX start/end");
  EXPECT_EQ(row("of TE"), "NVTX TransformerEngine");
  EXPECT_EQ(trace.duration_ns()[slice_named(trace, "mark")], 0);
}

TEST(NsysReader, CountsRangesThatDoNotEnd) {
  const Trace trace = read_nsys([](NsysFile& file) {
    file.kernel({.start = 100, .end = 200});
    file.range({.start = 1, .text = "open"});
  });
  EXPECT_THAT(trace.import.skipped, ElementsAre(::testing::Pair("NVTX range without an end", 1)));
}

TEST(NsysReader, PutsTimesOnTheWallClock) {
  const auto first = [](std::int64_t start_ns, const std::string& normalized) {
    return read_nsys([&](NsysFile& file) {
             file.session(1'700'000'000'000'000'123, start_ns);
             file.run("CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT)");
             file.run("INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PARAM_TIME_NORMALIZE', '" + normalized + "')");
             file.kernel({.start = 5000, .end = 6000});
           })
        .first_ns();
  };
  EXPECT_EQ(first(0, "false"), 1'700'000'000'000'005'123);
  EXPECT_EQ(first(2000, "false"), 1'700'000'000'000'003'123);
  EXPECT_EQ(first(2000, "true"), 5000);
}

TEST(NsysReader, ReadsTimesBeforeTheSession) {
  const Trace trace = read_nsys([](NsysFile& file) {
    file.session(1000, 0);
    file.kernel({.start = -400, .end = -300});
  });
  EXPECT_EQ(trace.first_ns(), 600);
}

TEST(NsysReader, LeadsFromTheLastWorkBeforeARecordToTheWaitForIt) {
  const Trace trace = read_nsys([](NsysFile& file) {
    file.kernel({.start = 100, .end = 200, .stream = 7, .correlation = 10, .name = "early"});
    file.kernel({.start = 200, .end = 300, .stream = 7, .correlation = 12, .name = "waited for"});
    file.kernel({.start = 300, .end = 400, .stream = 7, .correlation = 30, .name = "later"});
    file.kernel({.start = 500, .end = 600, .stream = 9, .correlation = 40, .name = "waiting"});
    file.record(/*event_sync_id=*/77, /*stream=*/7, /*correlation=*/20);
    file.wait({.start = 90, .end = 91, .stream = 9, .correlation = 35, .event_sync_id = 77});
    file.wait({.start = 92, .end = 93, .stream = 9, .correlation = 36, .event_sync_id = 78});
  });
  const std::uint32_t wait = slice_named(trace, "Stream Wait Event");
  EXPECT_EQ(trace.tag(wait).kind, Kind::none);
  EXPECT_EQ(trace.track_of(wait).name, "stream 9");
  EXPECT_THAT(trace.flows, ElementsAre(Flow{1, wait, FlowKind::dependency}));
}

TEST(NsysReader, ProvesNoDependencyByAnIdThatTwoRecordsHave) {
  const Trace trace = read_nsys([](NsysFile& file) {
    file.kernel({.start = 100, .end = 200, .correlation = 10});
    file.record(77, 7, 20);
    file.record(77, 7, 21);
    file.wait({.start = 90, .end = 91, .correlation = 35, .event_sync_id = 77});
  });
  EXPECT_THAT(trace.flows, ElementsAre());
}

TEST(NsysReader, LeavesWaitsOfTheHostToTheirCalls) {
  const Trace trace = read_nsys([](NsysFile& file) {
    file.kernel({.start = 100, .end = 200});
    file.wait({.start = 90, .end = 91, .type = 3});
  });
  EXPECT_THAT(names_of(trace), ElementsAre("gemm"));
  EXPECT_THAT(reasons(trace), ElementsAre());
}

TEST(NsysReader, SaysThatKernelsOfAGraphTracedWholeCannotBeKnown) {
  const Trace trace = read_nsys([](NsysFile& file) { file.graph({.start = 100, .end = 900}, 42); });
  EXPECT_THAT(names_of(trace), ElementsAre("CUDA graph 42"));
  EXPECT_THAT(trace.metadata.at("advice"), ::testing::HasSubstr("--cuda-graph-trace=node"));
  EXPECT_EQ(trace.attribution(0).source, AttributionSource::unclassified);
}

TEST(NsysReader, CountsByReasonWhatCannotBeUsed) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const Trace trace = read_nsys([&](NsysFile& file) {
    file.session(1'700'000'000'000'000'000, 0);
    file.kernel({.start = 100, .end = 200, .correlation = 9});
    file.kernel({.start = 300, .end = 250});
    file.kernel({.start = most - 1, .end = most});
    file.kernel({.start = 1, .end = 2, .device = -4});
    file.run("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end) VALUES ('soon', 5)");
    file.run("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end) VALUES (5, 'later')");
    file.run("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId) VALUES (5, 6, 0)");
    file.call({.start = 150, .end = 160, .correlation = 9, .name = "cudaLaunchKernel"});
    file.call({.start = 1, .end = 2, .correlation = 3, .pid = 999, .tid = 999});
    file.run("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, nameId) VALUES (5, 6, " +
             std::to_string(NsysFile::global(100, 100)) + ", 12345)");
    file.range({.start = 1, .end = 2, .text = "range"});
    file.run("UPDATE NVTX_EVENTS SET eventType = NULL");
    file.wait({.start = 1, .end = 2});
    file.run("UPDATE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION SET syncType = 'long'");
  });
  EXPECT_THAT(reasons(trace), UnorderedElementsAre("kernel that ends before it starts", "kernel whose time overflows",
                                                   "kernel without a device", "kernel whose start is not an integer",
                                                   "kernel whose end is not an integer", "kernel without a stream",
                                                   "unnamed kernel (kept)", "work that starts before its call (kept)",
                                                   "call of a process without GPU work", "name missing from StringIds",
                                                   "NVTX event without a type", "wait without a type"));
  EXPECT_EQ(trace.import.events, 11);
  EXPECT_EQ(trace.size(), 3U);
}

}  // namespace
}  // namespace underlap::formats
