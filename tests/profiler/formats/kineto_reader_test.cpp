// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/kineto/reader.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "profiler/formats/format.hpp"
#include "tests/profiler/formats/kineto_text.hpp"
#include "tests/profiler/temporary_folder.hpp"

namespace underlap::formats {
namespace {

using namespace underlap::testing_support;  // NOLINT
using namespace ::testing;                  // NOLINT

std::string event_of(std::string_view category, std::string_view name, std::string_view rest) {
  return R"({"ph": "X", "cat": ")" + std::string(category) + R"(", "name": ")" + std::string(name) + R"(", )" +
         std::string(rest) + "}";
}

TEST(KinetoReader, ReadsAKernelWithItsLaunchAndOperation) {
  const Trace trace = read_kineto_events({kKernel, kLaunch, kOperation});
  ASSERT_EQ(trace.size(), 3);
  EXPECT_THAT(trace.import.skipped, IsEmpty());
  EXPECT_EQ(trace.import.events, 3);
  EXPECT_EQ(trace.tracks[0], (Track{0, 7, "stream 7", TrackKind::stream, 0}));
  EXPECT_EQ(trace.tracks[1], (Track{0, 901, "thread 901", TrackKind::thread, -1}));
  EXPECT_EQ(trace.start_ns(), (std::vector<std::int64_t>{110'000, 100'000, 95'000}));
  EXPECT_EQ(trace.duration_ns(), (std::vector<std::int64_t>{20'000, 5'000, 15'000}));
  EXPECT_EQ(trace.tag(0).kind, Kind::compute);
  EXPECT_EQ(trace.tag(1).kind, Kind::none);
  EXPECT_EQ(trace.attribution(0), kNotAttributed);
  EXPECT_EQ(trace.shape(0), (LaunchShape{{4, 2, 1}, {128, 1, 1}, 0}));
  EXPECT_THAT(trace.flows, ElementsAre(Flow{1, 0, FlowKind::launch}));
  EXPECT_EQ(trace.metadata.at("format"), "kineto");
  EXPECT_EQ(trace.metadata.at("rank"), "assumed");
}

// The first kernel was launched before the record, the second after it.
TEST(KinetoReader, JoinsAWaitToTheWorkBeforeItsEvent) {
  const auto kernel = [](int stream, int start, int correlation) {
    return event_of("kernel", "k",
                    fmt::format(R"("pid":0,"tid":{0},"ts":{1},"dur":10,"args":{{"stream":{0},"correlation":{2}}})",
                                stream, start, correlation));
  };
  const auto call = [](std::string_view name, int start, int correlation) {
    return event_of("cuda_runtime", name,
                    fmt::format(R"("pid":9,"tid":9,"ts":{},"dur":1,"args":{{"correlation":{}}})", start, correlation));
  };
  const std::string wait =
      event_of("cuda_sync", "Stream Wait Event",
               R"("pid":0,"tid":20,"ts":105,"dur":15,"args":{"stream":20,"wait_on_stream":7,"correlation":4,)"
               R"("wait_on_cuda_event_record_corr_id":2})");
  const std::string first = kernel(7, 100, 1), second = kernel(7, 110, 3);
  const std::string launch = call("cudaLaunchKernel", 50, 1), later = call("cudaLaunchKernel", 54, 3);
  // Without the call that recorded, the last work that had ended counts.
  EXPECT_EQ(read_kineto_events({first, second, wait, launch, later}).flows.back(), (Flow{1, 2, FlowKind::dependency}));
  EXPECT_EQ(read_kineto_events({first, second, wait, launch, later, call("cudaEventRecord", 52, 2)}).flows.back(),
            (Flow{0, 2, FlowKind::dependency}));
}

TEST(KinetoReader, KeepsNanosecondsOfDecimalTimesOnTheFilesBase) {
  const Trace trace =
      read_kineto_events({event_of("kernel", "k", R"("pid":0,"tid":7,"ts":4458676522690.655,"dur":0.777)")},
                         R"("baseTimeNanoseconds": 1711964646000000000)");
  EXPECT_EQ(trace.start_ns()[0], 1711964646000000000 + 4458676522690655);
  EXPECT_EQ(trace.duration_ns()[0], 777);
  EXPECT_EQ(trace.metadata.at("time_base_ns"), "1711964646000000000");
}

TEST(KinetoReader, ReadsMembersBehindTheEvents) {
  std::string text = kineto_file({kKernel});
  text.pop_back();
  text += R"(, "baseTimeNanoseconds": 1000, "distributedInfo": {"rank": 5, "world_size": 8, "nccl_version": "2.19.3"},
      "deviceProperties": [{"id": 0, "name": "NVIDIA H100"}]})";
  const Trace trace = read_kineto_text(text);
  EXPECT_EQ(trace.tracks[0].rank, 5);
  EXPECT_EQ(trace.start_ns()[0], 111'000);
  EXPECT_EQ(trace.metadata.at("world_size"), "8");
  EXPECT_EQ(trace.metadata.at("nccl_version"), "2.19.3");
  EXPECT_EQ(trace.metadata.at("device_name"), "NVIDIA H100");
  EXPECT_FALSE(trace.metadata.contains("rank"));
}

TEST(KinetoReader, ReadsAnArrayOfEventsWithoutAnObjectAroundIt) {
  for (const char* end : {"]", ",\n]", ",\n", ""}) {
    const Trace trace = read_kineto_text("\xEF\xBB\xBF [" + std::string(kKernel) + ",\n" + std::string(kLaunch) + end);
    EXPECT_EQ(trace.size(), 2) << end;
    EXPECT_EQ(trace.import.num_skipped(), std::string_view(end).ends_with(']') ? 0 : 1) << end;
  }
}

TEST(KinetoReader, KnowsCategoriesOfAllGenerations) {
  struct Case {
    const char* category;
    TrackKind track;
    Kind kind;
  };
  for (const Case& c : std::vector<Case>{{"kernel", TrackKind::stream, Kind::compute},
                                         {"Kernel", TrackKind::stream, Kind::compute},
                                         {"gpu_memcpy", TrackKind::stream, Kind::copy},
                                         {"Memcpy", TrackKind::stream, Kind::copy},
                                         {"gpu_memset", TrackKind::stream, Kind::copy},
                                         {"Memset", TrackKind::stream, Kind::copy},
                                         {"cuda_sync", TrackKind::stream, Kind::none},
                                         {"gpu_user_annotation", TrackKind::range, Kind::none},
                                         {"user_annotation", TrackKind::range, Kind::none},
                                         {"cuda_runtime", TrackKind::thread, Kind::none},
                                         {"cuda_driver", TrackKind::thread, Kind::none},
                                         {"Runtime", TrackKind::thread, Kind::none},
                                         {"Operator", TrackKind::thread, Kind::none},
                                         {"python_function", TrackKind::thread, Kind::none},
                                         {"something of tomorrow", TrackKind::thread, Kind::none}}) {
    const Trace trace = read_kineto_events({event_of(c.category, "x", R"("pid": 0, "tid": 7, "ts": 1, "dur": 1)")});
    ASSERT_EQ(trace.size(), 1) << c.category;
    EXPECT_EQ(trace.track_of(0).kind, c.track) << c.category;
    EXPECT_EQ(trace.tag(0).kind, c.kind) << c.category;
    EXPECT_EQ(trace.track_of(0).stream, 7) << c.category;
  }
}

TEST(KinetoReader, PutsKernelsCopiesAndAnnotationsOfAStreamWhereTheyBelong) {
  const Trace trace = read_kineto_events(
      {kKernel,
       event_of("gpu_memcpy", "Memcpy DtoD", R"("pid":0,"tid":7,"ts":140,"dur":2,"args":{"stream":7,"bytes":64})"),
       event_of("gpu_user_annotation", "forward", R"("pid": 0, "tid": 7, "ts": 110, "dur": 30)"),
       event_of("user_annotation", "forward", R"("pid": 900, "tid": 901, "ts": 90, "dur": 30)"), kLaunch});
  ASSERT_EQ(trace.tracks.size(), 4);
  EXPECT_EQ(trace.track(0), trace.track(1));
  EXPECT_EQ(trace.shape(1).bytes, 64);
  EXPECT_EQ(trace.track_of(2), (Track{0, 7, "stream 7", TrackKind::range, 0}));
  EXPECT_EQ(trace.track_of(3), (Track{0, 901, "thread 901", TrackKind::range, -1}));
  EXPECT_EQ(trace.track_of(4), (Track{0, 901, "thread 901", TrackKind::thread, -1}));
}

TEST(KinetoReader, TakesArgumentsBeforeTheCategoryIsKnown) {
  const Trace trace = read_kineto_events(
      {R"({"args": {"stream": 9, "device": 2, "correlation": 4, "grid": [3,1,1]}, "cat": "kernel", "dur": 1, "name": "k",
           "ph": "X", "pid": 2, "tid": "stream 9", "ts": 5})",
       R"({"args": {"correlation": 4}, "cat": "cuda_runtime", "dur": 1, "name": "l", "ph": "X", "pid": 1, "tid": 1, "ts": 2})"});
  EXPECT_EQ(trace.track_of(0), (Track{0, 9, "stream 9", TrackKind::stream, 2}));
  EXPECT_EQ(trace.shape(0).grid[0], 3);
  EXPECT_EQ(trace.flows.size(), 1);
}

TEST(KinetoReader, ReadsRocmKernelsAndTextForProcessesAndThreads) {
  const Trace trace = read_kineto_events(
      {R"({"ph":"X","cat":"kernel","name":"Cijk","pid":"GPU 3","tid":"stream 2","ts":"10.5","dur":"1.25",
           "args":{"device":3,"stream":2,"correlation":"77","kind":"Dispatch Kernel"}})",
       R"({"ph":"X","cat":"cuda_runtime","name":"hipLaunchKernel","pid":"1","tid":"main","ts":9,"dur":1,
           "args":{"correlation":77}})"});
  EXPECT_EQ(trace.track_of(0), (Track{0, 2, "stream 2", TrackKind::stream, 3}));
  EXPECT_EQ(trace.track_of(1).name, "thread main");
  EXPECT_EQ(trace.start_ns()[0], 10'500);
  EXPECT_EQ(trace.duration_ns()[0], 1'250);
  EXPECT_THAT(trace.flows, ElementsAre(Flow{1, 0, FlowKind::launch}));
}

TEST(KinetoReader, NamesThreadsByTheirMetadata) {
  const Trace trace = read_kineto_events(
      {kKernel, kLaunch,
       R"j({"name":"thread_name","ph":"M","ts":1,"pid":900,"tid":901,"args":{"name":"thread 901 (train)"}})j",
       R"({"name":"thread_name","ph":"M","pid":0,"tid":7,"args":{"name":"stream 7 "}})",
       R"({"name":"process_name","ph":"M","pid":0,"tid":0,"args":{"name":"python"}})"});
  EXPECT_EQ(trace.tracks[0].name, "stream 7");
  EXPECT_EQ(trace.tracks[1].name, "thread 901 (train)");
}

TEST(KinetoReader, PairsBeginsWithEnds) {
  const Trace trace = read_kineto_events(
      {R"({"ph":"B","name":"outer","pid":1,"tid":2,"ts":10})", R"({"ph":"B","name":"inner","pid":1,"tid":2,"ts":11})",
       R"({"ph":"E","pid":1,"tid":3,"ts":12})", R"({"ph":"E","pid":1,"tid":2,"ts":13})",
       R"({"ph":"E","pid":1,"tid":2,"ts":15.5})", R"({"ph":"B","name":"cut","pid":1,"tid":2,"ts":16})"});
  ASSERT_EQ(trace.size(), 2);
  EXPECT_EQ(name_of(trace.name(0)), "inner");
  EXPECT_EQ(trace.duration_ns(), (std::vector<std::int64_t>{2'000, 5'500}));
  EXPECT_EQ(trace.import.skipped.at("end of a slice without a start"), 1);
  EXPECT_EQ(trace.import.skipped.at("slice without an end"), 1);
}

TEST(KinetoReader, ReadsCounters) {
  const Trace trace =
      read_kineto_events({kKernel, R"({"ph":"C","name":"memory","pid":900,"tid":0,"ts":1,"args":{"bytes":2.5}})",
                          R"({"ph":"C","name":"memory","pid":900,"tid":0,"ts":2,"args":{"bytes":7}})",
                          R"({"ph":"C","name":"rates","pid":900,"ts":3,"args":{"in":1,"out":2}})"});
  ASSERT_EQ(trace.counters.size(), 4);
  EXPECT_EQ(trace.counters[0], (CounterSample{1, 1'000, 2.5}));
  EXPECT_EQ(trace.counters[1], (CounterSample{1, 2'000, 7}));
  EXPECT_EQ(trace.tracks[1].name, "memory");
  EXPECT_EQ(trace.tracks[1].kind, TrackKind::counter);
  EXPECT_EQ(trace.tracks[2].name, "rates in");
}

TEST(KinetoReader, FollowsArrowsWhereNothingHasACorrelation) {
  const Trace trace =
      read_kineto_events({event_of("kernel", "k", R"("pid": 0, "tid": 7, "ts": 20, "dur": 5)"),
                          event_of("cuda_runtime", "l", R"("pid": 900, "tid": 901, "ts": 10, "dur": 5)"),
                          R"({"ph":"s","id":3,"cat":"ac2g","name":"ac2g","pid":900,"tid":901,"ts":10})",
                          R"({"ph":"f","id":3,"cat":"ac2g","name":"ac2g","pid":0,"tid":7,"ts":20,"bp":"e"})",
                          R"({"ph":"s","id":4,"cat":"fwdbwd","name":"fwdbwd","pid":900,"tid":901,"ts":10})",
                          R"({"ph":"f","id":5,"cat":"ac2g","name":"ac2g","pid":0,"tid":7,"ts":20,"bp":"e"})"});
  EXPECT_THAT(trace.flows, ElementsAre(Flow{1, 0, FlowKind::launch}));
}

TEST(KinetoReader, KeepsWorkThatBeginsBeforeItsLaunch) {
  const Trace trace = read_kineto_events(
      {kKernel, event_of("cuda_runtime", "late", R"("pid":900,"tid":901,"ts":111,"dur":5,"args":{"correlation":31})")});
  EXPECT_EQ(trace.size(), 2);
  EXPECT_EQ(trace.start_ns()[0], 110'000);
  EXPECT_EQ(trace.flows.size(), 1);
  EXPECT_EQ(trace.metadata.at("work_before_its_launch"), "1");
}

TEST(KinetoReader, OfCallsThatShareACorrelationTakesTheLastBeforeTheWork) {
  const auto call = [](const char* ts) {
    return event_of("cuda_runtime", ts,
                    std::string(R"("pid":900,"tid":901,"dur":1,"args":{"correlation":31},"ts":)") + ts);
  };
  const Trace trace = read_kineto_events({kKernel, call("50"), call("109"), call("70"), call("200")});
  ASSERT_EQ(trace.flows.size(), 1);
  EXPECT_EQ(name_of(trace.name(trace.flows[0].from)), "109");
}

TEST(KinetoReader, TakesACorrelationOfNoughtForNone) {
  const Trace trace = read_kineto_events(
      {event_of("kernel", "k", R"("pid":0,"tid":7,"ts":5,"dur":1,"args":{"correlation":0})"),
       event_of("cuda_runtime", "l", R"("pid":900,"tid":901,"ts":1,"dur":5,"args":{"correlation":0})")});
  EXPECT_THAT(trace.flows, IsEmpty());
}

std::vector<std::int32_t> ranks_of_tracks(const Trace& trace) {
  std::vector<std::int32_t> ranks;
  for (const Track& track : trace.tracks) ranks.push_back(track.rank);
  return ranks;
}

TEST(KinetoReader, TakesTwoDevicesForTwoRanksWithTheThreadsThatLaunchOnThem) {
  const auto kernel = [](int device, int id) {
    const std::string number = std::to_string(device);
    return event_of("kernel", "k",
                    R"("ts":9,"dur":1,"pid":)" + number + R"(,"tid":7,"args":{"device":)" + number +
                        R"(,"stream":7,"correlation":)" + std::to_string(id) + "}");
  };
  const auto call = [](int pid, int id) {
    return event_of("cuda_runtime", "l",
                    R"("ts":5,"dur":1,"tid":1,"pid":)" + std::to_string(pid) + R"(,"args":{"correlation":)" +
                        std::to_string(id) + "}");
  };
  EXPECT_THAT(ranks_of_tracks(read_kineto_events({kernel(6, 1), kernel(2, 2), call(100, 1), call(200, 2)})),
              ElementsAre(1, 0, 1, 0));
  EXPECT_THAT(ranks_of_tracks(
                  read_kineto_events({kernel(6, 1), kernel(6, 3), kernel(2, 2)}, R"("distributedInfo":{"rank":6})")),
              ElementsAre(6, 5));
}

TEST(KinetoReader, TakesProcessesForRanksWhereThereIsNoDevice) {
  const auto span = [](const char* pid) {
    return event_of("", "x", std::string(R"("ts":1,"dur":1,"tid":1,"pid":)") + pid);
  };
  EXPECT_THAT(ranks_of_tracks(read_kineto_events({span("20"), span("10")})), ElementsAre(1, 0));
  EXPECT_THAT(ranks_of_tracks(read_kineto_events({span("20"), span("10")}, R"("distributedInfo":{"rank":3})")),
              ElementsAre(3, 3));
}

TEST(KinetoReader, IsTheSameReadInPiecesOnTwoThreads) {
  std::string text = "[";
  for (int i = 0; i < 40'000; ++i)
    text += R"({"ph":"X","cat":"kernel","name":"kernel )" + std::to_string(i % 977) + R"(","pid":0,"tid":)" +
            std::to_string(i % 3) + R"(,"ts":)" + std::to_string(10 * i) + R"(,"dur":9,"args":{"correlation":)" +
            std::to_string(i) + "}},\n";
  const Trace trace = read_kineto_text(text + "]");
  ASSERT_GT(text.size(), std::size_t{4} << 20);
  ASSERT_EQ(trace.size(), 40'000);
  EXPECT_EQ(trace.import.num_skipped(), 0);
  for (std::size_t i = 0; i < trace.size(); ++i) {
    ASSERT_EQ(trace.start_ns()[i], static_cast<std::int64_t>(10'000 * i));
    ASSERT_EQ(trace.track_of(i).stream, static_cast<std::int32_t>(i % 3));
    ASSERT_EQ(name_of(trace.name(i)), "kernel " + std::to_string(i % 977));
  }
}

}  // namespace
}  // namespace underlap::formats
