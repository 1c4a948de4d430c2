// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <initializer_list>
#include <set>

#include "profiler/formats/format.hpp"
#include "tests/profiler/error_of.hpp"
#include "tests/profiler/formats/made_up_steps.hpp"
#include "tests/profiler/formats/trace_text.hpp"
#include "tests/profiler/slices.hpp"

namespace underlap::formats {
namespace {

using namespace underlap::testing_support;  // NOLINT
using namespace ::testing;                  // NOLINT

// A file with these processes, threads and slices, written with ' for ".
std::string jax_events(const std::string& events) {
  return quoted("{'displayTimeUnit':'ns','metadata':{'highres-ticks':true},'traceEvents':[" + events + ",{}]}");
}

const std::string kGpu =
    "{'ph':'M','pid':3,'name':'process_name','args':{'name':'/device:GPU:2'}},"
    "{'ph':'M','pid':3,'tid':16,'name':'thread_name','args':{'name':'Stream #16(Kernel)'}},";
const std::string kKernel = "{'ph':'X','pid':3,'tid':16,'ts':1,'dur':1e-06,'name':'k'}";

TEST(JaxReader, MakesEachDeviceARank) {
  const Trace trace = read_trace_text(jax_file(2));
  EXPECT_EQ(trace.metadata.at("format"), "jax");
  EXPECT_EQ(trace.metadata.at("rank"), "assumed");
  std::set<std::int32_t> streams;
  for (const Track& track : trace.tracks) {
    if (track.kind != TrackKind::stream) continue;
    EXPECT_EQ(track.rank, track.device);
    streams.insert(track.stream + 1000 * track.rank);
  }
  EXPECT_THAT(streams, ElementsAre(7, 20, 24, 1007, 1020, 1024));
  EXPECT_THAT(trace.import.skipped, IsEmpty());
}

TEST(JaxReader, ReadsShapesLaunchesAndCollectives) {
  const Trace trace = read_trace_text(jax_file(2));
  const std::uint32_t gemm = slice_named(trace, "sm90_xmma_gemm");
  EXPECT_EQ(trace.shape(gemm), (LaunchShape{{24, 2, 1}, {512, 1, 1}, 0}));
  EXPECT_EQ(trace.communication(gemm), nullptr);
  const std::uint32_t copy = slice_named(trace, "MemcpyH2D");
  EXPECT_EQ(trace.tag(copy).kind, Kind::copy);
  EXPECT_EQ(trace.shape(copy).bytes, 1 << 20);
  const std::uint32_t all_reduce = slice_named(trace, "one_shot_kernel");
  EXPECT_EQ(name_of(trace.tag(all_reduce).purpose), "all_reduce");
  ASSERT_NE(trace.communication(all_reduce), nullptr);
  EXPECT_FALSE(trace.knows_bytes_on_wire(all_reduce));
  ASSERT_EQ(trace.flows.size(), 24U);
  for (const Flow& flow : trace.flows) EXPECT_EQ(trace.track_of(flow.from).rank, trace.track_of(flow.to).rank);
}

TEST(JaxReader, GivesEachRankTheStepsOfTheHost) {
  const Trace trace = read_trace_text(jax_file(2));
  std::multiset<std::int32_t> ranks;
  for (std::size_t i = 0; i < trace.size(); ++i)
    if (name_of(trace.name(i)).starts_with("train step")) ranks.insert(trace.track_of(i).rank);
  EXPECT_THAT(ranks, ElementsAre(0, 0, 0, 1, 1, 1));
  EXPECT_EQ(trace.track_of(slice_named(trace, "train step 2")).kind, TrackKind::range);
}

TEST(JaxReader, SkipsHostRowsThatRepeatOthers) {
  const Trace trace = read_trace_text(jax_file(1));
  EXPECT_THAT(names_of(trace), Not(Contains("ThreadpoolListener::Record")));
  for (std::size_t i = 0; i < trace.size(); ++i)
    EXPECT_FALSE(name_of(trace.name(i)) == "gemm_fusion_dot.12" && trace.is_work(i));
}

TEST(JaxReader, UsesTheDeviceOrdinalAsRank) {
  const Trace trace = read_trace_text(jax_events(kGpu + kKernel));
  EXPECT_EQ(trace.track_of(0).rank, 2);
  EXPECT_EQ(trace.track_of(0).device, 2);
  EXPECT_EQ(trace.track_of(0).stream, 16);
  EXPECT_EQ(trace.duration_ns()[0], 0);  // a picosecond
}

struct Operation {
  const char* name;
  const char* instruction;
  const char* purpose;  ///< "" for none
  Kind kind;
};

class JaxOperations : public TestWithParam<Operation> {};

TEST_P(JaxOperations, AreClassifiedByInstruction) {
  const Trace trace =
      read_trace_text(jax_events(kGpu + "{'ph':'X','pid':3,'tid':16,'ts':1,'dur':1,'name':'" + GetParam().name +
                                 "','args':{'hlo_op':'" + GetParam().instruction + "'}}," + kKernel));
  EXPECT_EQ(name_of(trace.tag(0).purpose), GetParam().purpose);
  EXPECT_EQ(trace.tag(0).kind, GetParam().kind);
  EXPECT_EQ(trace.communication(0) != nullptr, GetParam().purpose[0] != '\0');
}

INSTANTIATE_TEST_SUITE_P(
    Instructions, JaxOperations,
    Values(Operation{"a", "all-gather-start", "all_gather", Kind::compute},
           Operation{"b", "reduce-scatter.3", "reduce_scatter", Kind::compute},
           Operation{"c", "reduce.3", "", Kind::compute}, Operation{"d", "all-reduce-fusion", "", Kind::compute},
           Operation{"e", "collective-permute-start.2", "collective_permute", Kind::compute},
           Operation{"f", "ragged-all-to-all", "all_to_all", Kind::compute},
           Operation{"MemcpyP2P", "all-to-all.1", "all_to_all", Kind::copy},
           Operation{"MemcpyD2D", "all-gather.1", "all_gather", Kind::copy},
           Operation{"MemcpyD2H", "send.3", "", Kind::copy}, Operation{"MemcpyH2D", "recv.3", "", Kind::copy},
           Operation{"Memset", "all-reduce.1", "", Kind::copy}, Operation{"MemoryAlloc", "x", "", Kind::none}));

struct JaxWork {
  const char* name;
  const char* instruction;
  int correlation;
};

Trace read_work(std::initializer_list<JaxWork> works) {
  std::string events = kGpu;
  int ts = 1;
  for (const auto& [name, instruction, correlation] : works)
    events += fmt::format(
        "{{'ph':'X','pid':3,'tid':16,'ts':{},'dur':1,'name':'{}',"
        "'args':{{'hlo_op':'{}','correlation_id':'{}'}}}},",
        ts++, name, instruction, correlation);
  return read_trace_text(jax_events(events + kKernel));
}

// "0 1+ 1+ -": the communication of each slice by its sequence, with a + for a part; - for none.
std::string communications_of(const Trace& trace) {
  std::string text;
  for (std::size_t i = 0; i + 1 < trace.size(); ++i) {
    const CommunicationRecord* const record = trace.communication(i);
    text += i == 0 ? "" : " ";
    text += record == nullptr ? "-" : fmt::format("{}{}", record->sequence, record->is_part ? "+" : "");
  }
  return text;
}

TEST(JaxCollectives, CopiesOfOneExecutionAreOneCommunication) {
  EXPECT_EQ(communications_of(read_work({{"MemcpyP2P", "all-reduce-start.1", 1},
                                         {"MemcpyP2P", "all-reduce-start.1", 2},
                                         {"gemm", "dot.1", 3},
                                         {"MemcpyP2P", "all-reduce-start.1", 4},
                                         {"MemcpyP2P", "all-reduce-start.1", 5},
                                         {"MemcpyP2P", "all-reduce-start.2", 6}})),
            "0 0+ - 1 1+ 2");
}

TEST(JaxCollectives, OverlappedWorkDoesNotSplitThem) {
  EXPECT_EQ(communications_of(read_work({{"gemm", "dot.1", 1},
                                         {"MemcpyP2P", "all-gather.1", 3},
                                         {"gemm", "dot.1", 2},
                                         {"MemcpyP2P", "all-gather.1", 4},
                                         {"gemm", "dot.2", 5},
                                         {"MemcpyP2P", "all-gather.1", 6}})),
            "- 0 - 0+ - 1");
}

TEST(JaxCollectives, CopiesOfOneGraphLaunchAreOneCommunication) {
  EXPECT_EQ(communications_of(read_work({{"MemcpyP2P", "all-gather.1", 8},
                                         {"gemm", "dot.1", 8},
                                         {"MemcpyP2P", "all-gather.1", 8},
                                         {"gemm", "dot.1", 9},
                                         {"MemcpyP2P", "all-gather.1", 9}})),
            "0 - 0+ - 1");
}

TEST(JaxCollectives, KernelsAreEachACommunication) {
  EXPECT_EQ(communications_of(read_work({{"nccl", "all-gather.1", 1}, {"nccl", "all-gather.1", 2}})), "0 1");
}

TEST(JaxCollectives, CopiesWithinTheDeviceOnlyPrepareOthers) {
  EXPECT_EQ(communications_of(read_work({{"MemcpyD2D", "all-gather.1", 1}, {"nccl", "all-gather.1", 2}})), "- 0");
  EXPECT_EQ(communications_of(read_work({{"MemcpyD2D", "all-gather.1", 1}, {"MemcpyP2P", "all-gather.1", 2}})), "- 0");
}

TEST(JaxRefusal, NamesWhatToRecordInstead) {
  const std::string host =
      "{'ph':'M','pid':701,'name':'process_name','args':{'name':'/host:CPU'}},"
      "{'ph':'X','pid':701,'tid':5,'ts':1,'dur':2,'name':'psum.7','args':{'hlo_op':'psum.7'";
  EXPECT_THAT(error_of([&] { read_trace_text(jax_events(host + ",'device_ordinal':'1'}}")); }),
              AllOf(HasSubstr("of the CPU backend"), HasSubstr("record the program on a GPU")));
  EXPECT_THAT(error_of([&] { read_trace_text(jax_events(host + "}}")); }), HasSubstr("without a GPU"));
  EXPECT_THAT(error_of([&] {
                read_trace_text(
                    jax_events("{'ph':'M','pid':2,'name':'process_name','args':{'name':'/device:TPU:0'}},"
                               "{'ph':'X','pid':2,'tid':5,'ts':1,'dur':2,'name':'fusion'}"));
              }),
              HasSubstr("of a TPU"));
}

TEST(JaxDamage, ReadsTheIntactPartOfACutFile) { EXPECT_GT(most_slices_of_cuts(jax_file(1), 200), 30U); }

}  // namespace
}  // namespace underlap::formats
