// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <map>
#include <random>

#include "profiler/formats/format.hpp"
#include "profiler/formats/rocprof/json_parts.hpp"
#include "tests/profiler/error_of.hpp"
#include "tests/profiler/formats/made_up_steps.hpp"
#include "tests/profiler/formats/trace_text.hpp"
#include "tests/profiler/slices.hpp"

namespace underlap::formats {
namespace {

using namespace underlap::testing_support;  // NOLINT
using namespace ::testing;                  // NOLINT

std::string with_kernels(const std::string& kernels, const std::string& more = "") {
  return quoted(
      "{'rocprofiler-sdk-tool':[{'agents':[{'id':{'handle':71},'type':2,'logical_node_type_id':3}],"
      "'kernel_symbols':[{'kernel_id':1,'kernel_name':'k.kd'}],'buffer_records':{'kernel_dispatch':[" +
      kernels + "]" + more + "}}]}");
}

std::string kernel(int start, int end, const std::string& stream = ",'stream_id':{'handle':5}", int queue = 1) {
  return "{'start_timestamp':" + std::to_string(start) + ",'end_timestamp':" + std::to_string(end) +
         ",'dispatch_info':{'agent_id':{'handle':71},'queue_id':{'handle':" + std::to_string(queue) +
         "},'kernel_id':1}" + stream + "}";
}

TEST(Rocprofv3Reader, ReadsKernelsCopiesCallsAndRanges) {
  const Trace trace = read_trace_text(rocprof_file({rocprof_process()}));
  EXPECT_EQ(trace.metadata.at("format"), "rocprofv3");
  EXPECT_EQ(trace.metadata.at("rank"), "assumed");
  EXPECT_EQ(trace.metadata.at("host_name"), "n0");
  EXPECT_EQ(trace.metadata.at("device_name"), "AMD Instinct MI350X");
  EXPECT_THAT(trace.import.skipped, IsEmpty());
  EXPECT_EQ(trace.import.events, 9 + 3 + 12 + 3);

  const std::uint32_t gemm = slice_named(trace, "Cijk_Ailk_Bljk");
  EXPECT_EQ(trace.tag(gemm).kind, Kind::compute);
  EXPECT_EQ(trace.attribution(gemm).source, AttributionSource::none);
  EXPECT_EQ(trace.start_ns()[gemm], kMadeUpOrigin * 1000);
  EXPECT_EQ(trace.duration_ns()[gemm], 350'000);
  EXPECT_EQ(trace.shape(gemm), (LaunchShape{{257, 2, 1}, {256, 1, 1}, 0}));
  EXPECT_EQ(trace.track_of(gemm), (Track{0, 7, "stream 7", TrackKind::stream, 0}));

  const std::uint32_t copy = slice_named(trace, "CopyHostToDevice");
  EXPECT_EQ(trace.tag(copy).kind, Kind::copy);
  EXPECT_EQ(trace.shape(copy).bytes, 1 << 20);
  EXPECT_EQ(trace.track_of(copy).stream, 24);

  const std::uint32_t step = slice_named(trace, "step 1");
  EXPECT_EQ(trace.track_of(step).kind, TrackKind::range);
  EXPECT_EQ(trace.tag(step).kind, Kind::none);
  EXPECT_EQ(trace.track_of(slice_named(trace, "hipLaunchKernel")).kind, TrackKind::thread);

  ASSERT_EQ(trace.flows.size(), 12U);
  for (const Flow& flow : trace.flows) {
    EXPECT_EQ(flow.kind, FlowKind::launch);
    EXPECT_LT(trace.start_ns()[flow.from], trace.start_ns()[flow.to]);
    EXPECT_EQ(trace.track_of(flow.from).kind, TrackKind::thread);
  }
}

TEST(Rocprofv3Reader, MakesEachGpuOfEachProcessARank) {
  const Trace trace = read_trace_text(rocprof_file({rocprof_process(908, 4), rocprof_process(909, 4)}));
  std::map<std::int32_t, int> tracks;
  for (const Track& track : trace.tracks) {
    ++tracks[track.rank];
    EXPECT_EQ(track.device, track.kind == TrackKind::stream ? 4 : -1);
  }
  EXPECT_THAT(tracks, ElementsAre(Pair(0, 5), Pair(1, 5)));
  for (const Flow& flow : trace.flows) EXPECT_EQ(trace.track_of(flow.from).rank, trace.track_of(flow.to).rank);
}

TEST(Rocprofv3Reader, ShowsQueuesIfStreamsAreUntrackedOrTooMany) {
  const Trace untracked =
      read_trace_text(with_kernels(kernel(1, 2, ",'stream_id':{'handle':0}", 7) + "," + kernel(2, 3, "", 8)));
  EXPECT_EQ(untracked.track_of(0).name, "queue 7");
  EXPECT_EQ(untracked.track_of(1).name, "queue 8");
  std::string kernels;
  for (int i = 1; i <= 65; ++i)
    kernels += (i > 1 ? "," : "") + kernel(i, i + 1, ",'stream_id':{'handle':" + std::to_string(i) + "}", i % 2);
  const Trace many = read_trace_text(with_kernels(kernels));
  EXPECT_EQ(many.size(), 65U);
  EXPECT_EQ(many.tracks.size(), 2U);
}

TEST(Rocprofv3Reader, NamesCopiesByTheirEndsAndCallsOfRcclAsRanges) {
  const std::string text = quoted(
      "{'rocprofiler-sdk-tool':[{'agents':[{'id':{'handle':1},'type':1},{'id':{'handle':2},'type':2,"
      "'logical_node_type_id':0},{'id':{'handle':3},'type':2,'logical_node_type_id':1}],'strings':{'buffer_records':["
      "{'kind':'RCCL_API','operations':['ncclAllReduce']}]},'buffer_records':{'memory_copy':["
      "{'start_timestamp':1,'end_timestamp':2,'src_agent_id':{'handle':2},'dst_agent_id':{'handle':1},'bytes':-5},"
      "{'start_timestamp':2,'end_timestamp':3,'src_agent_id':{'handle':2},'dst_agent_id':{'handle':2}},"
      "{'start_timestamp':3,'end_timestamp':4,'src_agent_id':{'handle':3},'dst_agent_id':{'handle':2}},"
      "{'start_timestamp':4,'end_timestamp':5,'src_agent_id':{'handle':1},'dst_agent_id':{'handle':1}}],"
      "'rccl_api':[{'kind':0,'operation':0,'thread_id':9,'start_timestamp':1,'end_timestamp':9}]}}]}");
  const Trace trace = read_trace_text(text);
  EXPECT_THAT(names_of(trace),
              ElementsAre("CopyDeviceToHost", "CopyDeviceToDevice", "CopyPeerToPeer", "ncclAllReduce"));
  EXPECT_EQ(trace.track_of(3).kind, TrackKind::range);
  EXPECT_EQ(trace.track_of(2).rank, 1);
  EXPECT_EQ(trace.shape(0).bytes, 0);
  EXPECT_THAT(trace.import.skipped, ElementsAre(Pair("copy without a GPU", 1)));
}

TEST(Rocprofv3Damage, CountsBadRecordsByReasonAndKeepsTheOthers) {
  const Trace trace = read_trace_text(with_kernels(
      kernel(10, 20) + ",17,{'start_timestamp':1},{'start_timestamp':'soon','end_timestamp':5}," + kernel(9, 3) +
      ",{'start_timestamp':1,'end_timestamp':9007199254740999},{'start_timestamp':9223372036854775807,"
      "'end_timestamp':9223372036854775807},{'start_timestamp' oops}," +
      kernel(30, 40)));
  EXPECT_EQ(trace.size(), 2U);
  EXPECT_EQ(trace.import.events, 9);
  EXPECT_THAT(trace.import.skipped,
              ElementsAre(Pair("invalid or overflowing duration", 1), Pair("invalid or overflowing time", 1),
                          Pair("negative duration", 1), Pair("record that is not a JSON object", 2),
                          Pair("record without a time", 2)));
  EXPECT_EQ(trace.track_of(0).device, 3);
}

TEST(Rocprofv3Damage, ReadsTheIntactPartOfACutFile) {
  const std::string text = rocprof_file({rocprof_process(), rocprof_process(909, 1)});
  EXPECT_GT(most_slices_of_cuts(text, 100), 40U);
  EXPECT_THAT(error_of([&] { read_trace_text(text.substr(0, 500)); }),
              HasSubstr("t.json: rocprofv3 JSON without kernels"));
  EXPECT_GE(read_trace_text(text.substr(0, text.size() - 2)).import.num_skipped(), 1);
}

TEST(Rocprofv3Damage, SurvivesChangedBytes) {
  const std::string text = rocprof_file({rocprof_process()});
  std::mt19937 random(7);  // NOLINT
  for (int i = 0; i < 300; ++i) {
    std::string changed = text;
    for (int k = 0; k < 5; ++k) changed[60 + random() % (changed.size() - 60)] = static_cast<char>(random() % 256);
    error_of([&] { read_trace_text(changed); });
  }
}

TEST(Rocprofv3Damage, RefusesAProgramWithoutAGpuAndNamesTheOptions) {
  for (const char* text : {"{'rocprofiler-sdk-tool':[]}", "{'rocprofiler-sdk-tool':[{'metadata':{}}]}",
                           "{'rocprofiler-sdk-tool':7}", "{'rocprofiler-sdk-tool':"})
    EXPECT_THAT(error_of([&] { read_trace_text(quoted(text)); }), HasSubstr("rocprofv3 --kernel-trace")) << text;
}

TEST(JsonParts, SplitObjectsAndArraysOfAnyText) {
  using rocprof::json_members;
  const auto members = json_members(R"({"a": {"b": "}"}, "c\"d": [1, 2], "e": 7, "f": "x", "g": {"h")");
  ASSERT_EQ(members.size(), 5U);
  EXPECT_EQ(members[0].value, R"({"b": "}"})");
  EXPECT_EQ(members[1].key, R"(c\"d)");
  EXPECT_EQ(members[2].value, "7");
  EXPECT_EQ(members[3].value, R"("x")");
  EXPECT_EQ(members[4].value, R"({"h")");
  EXPECT_FALSE(members[4].is_whole);
  for (const char* text : {"", "[]", "{", "{\"a", "{\"a\"", "{\"a\":", "{a}"})
    EXPECT_THAT(json_members(text), IsEmpty());
  std::vector<std::string> elements;
  const std::size_t others = rocprof::for_each_json_element(
      R"([{"a": 1}, 7, [2], {"b")", [&](const rocprof::JsonPart& part) { elements.emplace_back(part.value); });
  EXPECT_THAT(elements, ElementsAre(R"({"a": 1})", "[2]", R"({"b")"));
  EXPECT_EQ(others, 1U);
}

}  // namespace
}  // namespace underlap::formats
