// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/kineto_writer/writer.hpp"

#include <gmock/gmock.h>
#include <zlib.h>

#include "platform/errors.hpp"
#include "platform/input/input_file.hpp"
#include "platform/json.hpp"
#include "tests/profiler/random_trace.hpp"
#include "tests/profiler/slices.hpp"
#include "tests/profiler/temporary_folder.hpp"

namespace underlap::formats {
namespace {

using nlohmann::ordered_json;
using namespace ::testing;        // NOLINT
using namespace testing_support;  // NOLINT

// Rank 1 of two: a gather beside a kernel, a copy and a wait, a call that launched the kernel, and a range around it.
Trace small_trace() {
  Trace trace;
  const std::uint32_t compute = trace.add_track({1, 0, "compute"});
  const std::uint32_t dp = trace.add_track({1, 2, "dp"});
  const std::uint32_t thread = trace.add_track({1, 77, "main", TrackKind::thread, -1});
  const std::uint32_t range = trace.add_track({1, 77, "main", TrackKind::range, -1});
  const std::uint32_t power = trace.add_track({1, 0, "power", TrackKind::counter, 0});
  trace.add_group({intern("param_all_gather"), {0, 1}, intern("5"), intern("DATA_PARALLEL_GROUP")});
  trace.add(slice_of(compute, 1'000'123, 50'001, "gemm"));
  trace.add(slice_of(dp, 1'010'000, 7, "gather", communication(Mode::dp, "param_all_gather")),
            {.group = 0, .sequence = 3, .transfers = {{Collective::all_gather, DataType::bf16, -1, 4096, 2048}}});
  Slice offload = slice_of(compute, 1'060'000, 10, "offload", {.kind = Kind::copy});
  offload.shape.bytes = 64;
  trace.add(offload);
  trace.add(slice_of(compute, 1'060'010, 10, "wait", kNoWork));
  trace.add(slice_of(thread, 1'000'010, 5, "cudaLaunchKernel", kNoWork));
  trace.add(slice_of(range, 1'000'000, 70'000, "forward", kNoWork));
  trace.flows = {{4, 0, FlowKind::launch}, {0, 3, FlowKind::dependency}};
  trace.marks = {{1, 0, 6, 1'000'000}, {1, 0, 7, 1'070'000}};
  trace.clocks = {{1, 1'000'000, 1'700'000'000'000'000'000}};
  trace.counters = {{power, 1'000'500, 312.5}};
  trace.metadata = {{"cell", "both"}, {"device_name", "H100"}};
  return trace;
}

ordered_json json_of_file(const Trace& trace) {
  const TemporaryFolder folder;
  write_kineto(folder / "t.json", trace);
  return parse_json(read_text(folder / "t.json"));
}

std::vector<ordered_json> events_of(const ordered_json& file, const std::string& category) {
  std::vector<ordered_json> events;
  for (const ordered_json& event : file["traceEvents"])
    if (event.value("cat", "") == category) events.push_back(event);
  return events;
}

TEST(KinetoWriter, SaysWhoseFileItIs) {
  const ordered_json file = json_of_file(small_trace());
  EXPECT_EQ(file["schemaVersion"], 1);
  EXPECT_EQ(file["deviceProperties"].dump(), R"([{"id":0,"name":"H100"}])");
  const ordered_json& job = file["distributedInfo"];
  EXPECT_EQ(job["rank"], 1);
  EXPECT_EQ(job["world_size"], 2);
  EXPECT_EQ(
      job["pg_config"].dump(),
      R"([{"pg_name":"5","pg_desc":"DATA_PARALLEL_GROUP","backend_config":"cuda:nccl","pg_size":2,"ranks":[0,1]}])");
}

// A text of each event of a category.
template <class Text>
std::vector<std::string> texts_of(const ordered_json& file, const std::string& category, Text text) {
  std::vector<std::string> texts;
  for (const ordered_json& event : events_of(file, category)) texts.push_back(text(event));
  return texts;
}

TEST(KinetoWriter, SortsEventsIntoKinetosCategories) {
  const ordered_json file = json_of_file(small_trace());
  const auto names = [&](const std::string& category) {
    return texts_of(file, category, [](const ordered_json& event) { return event["name"].get<std::string>(); });
  };
  EXPECT_THAT(names("kernel"), ElementsAre("gemm", "ncclDevKernel_AllGather(gather)"));
  EXPECT_THAT(names("gpu_memcpy"), ElementsAre("Memcpy (offload)"));
  EXPECT_THAT(names("cuda_sync"), ElementsAre("wait"));
  EXPECT_THAT(names("user_annotation"), UnorderedElementsAre("ProfilerStep#7", "forward"));
  EXPECT_THAT(names("cpu_op"), ElementsAre("record_param_comms"));
  EXPECT_THAT(names("cuda_runtime"), UnorderedElementsAre("cudaLaunchKernel", "cudaLaunchKernel", "cudaMemcpyAsync"));
}

TEST(KinetoWriter, WritesAWaitForEachDependency) {
  Trace trace = small_trace();
  trace.flows.push_back({0, 1, FlowKind::dependency});
  const std::vector<ordered_json> waits = events_of(json_of_file(trace), "cuda_sync");
  ASSERT_EQ(waits.size(), 2U);
  EXPECT_EQ(waits[0]["name"], "Stream Wait Event");
  EXPECT_EQ(waits[0]["dur"], 0);
  for (const ordered_json& wait : waits) {
    EXPECT_EQ(wait["args"]["cuda_sync_kind"], "Stream Wait Event");
    EXPECT_EQ(wait["args"]["wait_on_stream"], trace.track_of(0).stream);
    EXPECT_EQ(wait["args"]["wait_on_cuda_event_record_corr_id"], 5);  // of the launch of slice 0
  }
}

TEST(KinetoWriter, WritesTimesExactlyAndTheirUnixTime) {
  const TemporaryFolder folder;
  write_kineto(folder / "t.json", small_trace());
  const std::string text = read_text(folder / "t.json");
  for (const char* times : {"\"baseTimeNanoseconds\": 1699999999999000000,", "\"ts\":1000.123,\"dur\":50.001,",
                            "\"ts\":1010.000,\"dur\":0.007,"})
    EXPECT_THAT(text, ::testing::HasSubstr(times));
}

TEST(KinetoWriter, BeginsAtTheEarliestTimeWhereThatIsNegative) {
  Trace trace;
  trace.add_track({0, 0, "compute"});
  trace.add(slice_of(0, -1'500, 2, "gemm"));
  const ordered_json file = json_of_file(trace);
  EXPECT_EQ(file["baseTimeNanoseconds"], -1'500);
  EXPECT_EQ(events_of(file, "kernel")[0]["ts"], 0.0);
}

TEST(KinetoWriter, TellsACollectiveOnItsKernelAndOnItsCall) {
  const ordered_json file = json_of_file(small_trace());
  const ordered_json kernel = events_of(file, "kernel")[1]["args"];
  const ordered_json call = events_of(file, "cpu_op")[0]["args"];
  for (const ordered_json& args : {kernel, call}) {
    EXPECT_EQ(args["Collective name"], "_allgather_base");
    EXPECT_EQ(args["In msg nelems"], 1024);
    EXPECT_EQ(args["Out msg nelems"], 2048);
    EXPECT_EQ(args["dtype"], "BFloat16");
    EXPECT_EQ(args["Group size"], 2);
    EXPECT_EQ(args["Process Group Name"], "5");
    EXPECT_EQ(args["Process Group Description"], "DATA_PARALLEL_GROUP");
    EXPECT_EQ(args["Process Group Ranks"], "[0, 1]");
  }
  EXPECT_EQ(kernel["External id"], call["External id"]);
}

TEST(KinetoWriter, GivesEachPieceOfWorkOneLaunchBeforeItInItsStep) {
  const ordered_json file = json_of_file(small_trace());
  std::map<std::int64_t, double> launched;
  for (const ordered_json& call : events_of(file, "cuda_runtime"))
    EXPECT_TRUE(launched.emplace(call["args"]["correlation"], call["ts"]).second);
  const ordered_json step = events_of(file, "user_annotation").front();
  ASSERT_EQ(step["name"], "ProfilerStep#7");
  std::vector<ordered_json> work = events_of(file, "kernel");
  work.push_back(events_of(file, "gpu_memcpy").front());
  EXPECT_EQ(launched.size(), work.size());
  for (const ordered_json& event : work) {
    const double launch = launched.at(event["args"]["correlation"]);
    EXPECT_LE(launch, event["ts"]) << event;
    EXPECT_GE(launch, step["ts"]) << event;
  }
}

TEST(KinetoWriter, DrawsFlowsWithinItsRank) {
  const ordered_json file = json_of_file(small_trace());
  const auto places = [&](const std::string& category) {
    return texts_of(file, category, [](const ordered_json& event) {
      return event["ph"].get<std::string>() + " " + event["tid"].dump() + " " + event["ts"].dump();
    });
  };
  EXPECT_THAT(places("ac2g"), ElementsAre("s 77 1000.01", "f 0 1000.123"));
  EXPECT_THAT(places("dependency"), ElementsAre("s 0 1050.124", "f 0 1060.01"));
}

TEST(KinetoWriter, KeepsWhatKinetoHasNoWordForUnderItsOwnKey) {
  const ordered_json file = json_of_file(small_trace());
  const ordered_json& own = file["underlap"];
  EXPECT_EQ(own["schema"], "underlap.kineto/1");
  EXPECT_EQ(own["clock_offset_ns"], 1'700'000'000'000'000'000 - 1'000'000);
  EXPECT_EQ(own["metadata"].dump(), R"([["cell","both"],["device_name","H100"]])");
  EXPECT_EQ(own["marks"].dump(), "[[0,6,1000000],[0,7,1070000]]");
  EXPECT_EQ(own["clocks"].dump(), "[[1000000,1700000000000000000]]");
  EXPECT_EQ(own["tracks"][1].dump(), R"({"rank":1,"stream":2,"name":"dp","kind":"stream","device":-1})");
  EXPECT_EQ(events_of(file, "kernel")[1]["args"]["underlap"].dump(),
            R"({"track":1,"name":"gather","kind":"communication","mode":"dp","purpose":"param_all_gather","group":0,)"
            R"("sequence":3,"transfers":[{"collective":"all_gather","dtype":"bf16","peer":-1,"bytes":4096,)"
            R"("bytes_on_wire":2048}]})");
  EXPECT_EQ(events_of(file, "cuda_sync")[0]["args"]["underlap"].dump(),
            R"({"track":0,"kind":"none","flows":[{"kind":"dependency","from":0}]})");
}

TEST(KinetoWriter, WritesAFileForEachRank) {
  const TemporaryFolder folder;
  std::mt19937 random(21);
  const Trace trace = random_trace(random, {.num_ranks = 3});
  EXPECT_THAT(
      kineto_files(folder / "run.v2.json.gz", trace),
      ElementsAre(folder / "run.v2.rank0.json.gz", folder / "run.v2.rank1.json.gz", folder / "run.v2.rank2.json.gz"));
  write_kineto(folder / "t.json", trace);
  std::size_t num_slices = 0;
  for (int rank = 0; rank < 3; ++rank) {
    const ordered_json file = parse_json(read_text(folder / ("t.rank" + std::to_string(rank) + ".json")));
    EXPECT_EQ(file["distributedInfo"]["rank"], rank);
    for (const ordered_json& event : file["traceEvents"])
      if (event["ph"] == "X" && event["args"].contains("underlap")) ++num_slices;
  }
  EXPECT_EQ(num_slices, trace.size());
}

TEST(KinetoWriter, NamesMayHoldAnyBytes) {
  Trace trace;
  trace.add_track({0, 0, "tab\t \"quoted\\"});
  const std::string control("\x01\x1f\x7f\0\n", 5);
  const std::vector<std::string> names{control,
                                       "caf\xC3\xA9 \xF0\x9F\x98\x80",
                                       "\xFF latin",
                                       "cut \xE2\x82",
                                       "surrogate \xED\xA0\x80",
                                       "overlong \xC0\xAF",
                                       "beyond \xF5\x80\x80\x80"};
  for (const std::string& name : names) trace.add(slice_of(0, 0, 1, name));
  const std::vector<ordered_json> kernels = events_of(json_of_file(trace), "kernel");
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool is_text = i < 2;
    EXPECT_EQ(kernels[i]["name"] == names[i], is_text) << i;
    EXPECT_NE(kernels[i].dump(), "") << i;  // throws where a string is not UTF-8
  }
  EXPECT_EQ(kernels[2]["name"], "\xEF\xBF\xBD latin");
}

TEST(KinetoWriter, CompressesByExtension) {
  const TemporaryFolder folder;
  std::mt19937 random(22);
  const Trace trace = random_trace(random, {.num_ranks = 1, .num_slices = 20'000});
  for (const char* name : {"t.json", "t.json.gz", "t.json.zst"}) write_kineto(folder / name, trace);
  const std::string plain = read_text(folder / "t.json");
  EXPECT_EQ(read_input_file(folder / "t.json.zst"), plain);
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> gzip(::gzopen((folder / "t.json.gz").c_str(), "rb"), ::gzclose);
  std::string unpacked(plain.size() + 1, '\0');
  unpacked.resize(
      static_cast<std::size_t>(::gzread(gzip.get(), unpacked.data(), static_cast<unsigned>(unpacked.size()))));
  EXPECT_TRUE(unpacked == plain);
  EXPECT_LT(std::filesystem::file_size(folder / "t.json.gz"), plain.size() / 5);
}

TEST(KinetoWriter, RefusesWhatNoFileHoldsAndLeavesNothingBehind) {
  const TemporaryFolder folder;
  Trace negative = small_trace(), no_slice = small_trace(), far = small_trace();
  negative.add(slice_of(0, 5, -1));
  no_slice.flows.push_back({0, 99, FlowKind::launch});
  far.add(slice_of(0, std::int64_t{1} << 62, 1));
  for (const Trace& wrong : {negative, no_slice, far})
    EXPECT_THROW(write_kineto(folder / "t.json", wrong), std::invalid_argument);
  EXPECT_THROW(write_kineto(folder / "none/t.json", small_trace()), MachineError);
  EXPECT_TRUE(std::filesystem::is_empty(folder / ""));
}

}  // namespace
}  // namespace underlap::formats
