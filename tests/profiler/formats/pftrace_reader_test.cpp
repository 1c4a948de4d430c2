// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <ostream>
#include <protozero/pbf_writer.hpp>

#include "profiler/formats/format.hpp"
#include "profiler/formats/output_file.hpp"
#include "profiler/formats/pftrace/reader.hpp"
#include "tests/profiler/error_of.hpp"
#include "tests/profiler/formats/pftrace_file.hpp"
#include "tests/profiler/formats/trace_text.hpp"
#include "tests/profiler/slices.hpp"
#include "tests/profiler/temporary_folder.hpp"
#include "tests/profiler/watch.hpp"

namespace underlap::formats {
namespace {

using namespace testing_support;  // NOLINT
using namespace ::testing;        // NOLINT
using Table = PftraceFile::Table;

constexpr const char* kAllReduce = "ncclDevKernel_AllReduce_Sum_f32_RING_LL";

PftraceFile::Arguments collective(std::int64_t external_id) {
  return {{"External id", external_id},
          {"Collective name", "allreduce"},
          {"dtype", "Float"},
          {"In msg nelems", std::int64_t{1000}},
          {"Out msg nelems", std::int64_t{1000}},
          {"Group size", std::int64_t{2}},
          {"Process Group Name", "3"},
          {"Process Group Description", "DATA_PARALLEL_GROUP"},
          {"Process Group Ranks", "[0, 1]"}};
}

// The host's part of PyTorch's files: a step in which three calls launch work 1, 2 and 3.
void add_host(PftraceFile& file, const PftraceFile::Arguments& more = {}) {
  file.process(1, 900, "python");
  file.thread(2, 1, 900, 901, "thread 901 (python)");
  std::vector<PftraceFile::Slice> slices{{2, 50, 1000, "ProfilerStep#4", "user_annotation"},
                                         {2, 95, 112, "record_param_comms", "cpu_op", collective(5)}};
  slices[1].arguments.insert(slices[1].arguments.end(), more.begin(), more.end());
  for (std::int64_t i = 1; i <= 3; ++i)
    slices.push_back({2,
                      70 + 10 * i,
                      75 + 10 * i,
                      i == 2 ? "cudaMemcpyAsync" : "cudaLaunchKernel",
                      "cuda_runtime",
                      {{"correlation", 30 + i}},
                      {static_cast<std::uint64_t>(30 + i)},
                      {static_cast<std::uint64_t>(i)}});
  for (const auto& slice : slices) file.begin(slice);
  for (const auto& slice : slices) file.end(slice);
}

std::string torch_render_stages() {
  PftraceFile file;
  file.intern({{Table::names, {1, "gemm"}},
               {Table::names, {2, "nccl:all_reduce"}},
               {Table::stages, {1, "Kernel"}},
               {Table::stages, {2, "Memcpy"}},
               {Table::stages, {4, "Annotation"}},
               {Table::stages, {100, "[07] stream 7"}},
               {Table::stages, {101, "[09] stream 9"}},
               {Table::stages, {102, "[20] stream 20"}}},
              {{1, "gemm"}, {2, kAllReduce}});
  add_host(file);
  const auto extra = [](int stream, int correlation) {
    return std::vector<std::pair<std::string, std::string>>{
        {"device id", "1"}, {"stream id", std::to_string(stream)}, {"correlation", std::to_string(correlation)}};
  };
  file.stage({1, 110, 20, 1, 100, 1, 1, 1, extra(7, 31), {4, 2, 1}});
  file.stage({2, 120, 25, 2, 101, 0, 0, 1, extra(9, 32)});
  file.stage({3, 130, 30, 1, 102, 0, 2, 1, extra(20, 33)});
  file.stage({4, 130, 30, 4, 102, 2, 0, 1, extra(20, 33)});
  return file.bytes;
}

std::string torch_slices() {
  PftraceFile file;
  add_host(file);
  file.process(3, 1, "python");
  std::uint64_t uuid = 10;
  for (const int stream : {7, 9, 20}) file.thread(uuid++, 3, 1, stream, fmt::format("stream {} ", stream));
  const auto arguments = [](std::int64_t stream, std::int64_t correlation) {
    return PftraceFile::Arguments{{"device", std::int64_t{1}}, {"stream", stream}, {"correlation", correlation}};
  };
  std::vector<PftraceFile::Slice> slices{{12, 130, 160, "nccl:all_reduce"},
                                         {12, 130, 160, kAllReduce, "", arguments(20, 33), {33}},
                                         {11, 120, 145, "Memcpy", "", arguments(9, 32), {32}},
                                         {10, 110, 130, "gemm", "", arguments(7, 31), {31}}};
  slices.back().arguments.push_back({"grid", std::vector<std::int64_t>{4, 2, 1}});
  for (const auto& slice : slices) file.begin(slice);
  for (const auto& slice : slices) file.end(slice);
  return file.bytes;
}

// All times are repeated as arguments, and the timestamps count from the one before.
std::string rocprof() {
  PftraceFile file;
  file.thread(77, 0, 900, 901, "python3");
  file.track(10, 0, "STREAM [\" 7 \"] ");
  file.track(11, 0, "STREAM [\" 9 \"] ");
  file.track(12, 0, "STREAM [\" 20 \"] ");
  file.clocks({{6, 40}, {64, 40, true}}, 64);
  std::int64_t last = 40;
  const auto add = [&](PftraceFile::Slice slice) {
    const bool is_back = slice.start < last;  // then it is absolute, and the sum remains
    const std::int64_t end = slice.end;
    slice.end -= is_back ? last : slice.start;
    if (!is_back) slice.start -= last;
    file.begin(slice, is_back ? 6 : 0);
    if (slice.end < 0) {
      slice.end = end;
      return file.end(slice, 6);
    }
    file.end(slice);
    last = end;
  };
  const auto work = [](std::int64_t correlation, std::int64_t stream) {
    return PftraceFile::Arguments{{"agent", "GPU-1"}, {"corr_id", correlation}, {"stream_ID", stream}};
  };
  for (std::int64_t i = 1; i <= 3; ++i)
    add({77, 70 + 10 * i, 75 + 10 * i, "hipLaunchKernel", "hip_api", {{"corr_id", 30 + i}}});
  add({77, 98, 112, "ncclAllReduce", "rccl_api", {{"corr_id", std::int64_t{40}}}});
  add({77, 50, 1000, "step 4", "marker_api", {{"corr_id", std::int64_t{50}}}});
  PftraceFile::Slice copy{11, 120, 145, "Memcpy", "memory_copy"};
  copy.arguments = {
      {"src_agent", "CPU-0"}, {"dst_agent", "GPU-1"}, {"corr_id", std::int64_t{32}}, {"stream_ID", std::int64_t{9}}};
  add(copy);
  PftraceFile::Slice gemm{10, 110, 130, "gemm", "kernel_dispatch", work(31, 7)};
  gemm.arguments.push_back({"workgroup_size", std::int64_t{64}});
  gemm.arguments.push_back({"grid_size", std::int64_t{512}});
  add(gemm);
  add({12, 130, 160, kAllReduce, "kernel_dispatch", work(33, 20)});
  return file.bytes;
}

std::string generic() {
  PftraceFile file;
  file.track(1, 0, "GPU 1");
  file.track(10, 1, "stream 7");
  file.track(11, 1, "stream 9");
  file.track(12, 1, "stream 20");
  file.thread(2, 0, 900, 901, "trainer");
  file.slice({2, 50, 1000, "train_step 4"});
  for (std::uint64_t i = 1; i <= 3; ++i)
    file.slice(
        {2, static_cast<std::int64_t>(70 + 10 * i), static_cast<std::int64_t>(75 + 10 * i), "launch", "", {}, {i}});
  file.slice({10, 110, 130, "gemm", "kernel", {}, {1}});
  file.slice({11, 120, 145, "Memcpy", "", {}, {2}});
  file.slice({12, 130, 160, kAllReduce, "", {}, {3}});
  return file.bytes;
}

struct Writer {
  const char* name;
  std::string (*bytes)();
  bool has_record;  ///< of the collective
};
void PrintTo(const Writer& writer, std::ostream* out) { *out << writer.name; }

class PftraceReader : public TestWithParam<Writer> {};

INSTANTIATE_TEST_SUITE_P(Writers, PftraceReader,
                         Values(Writer{"TorchRenderStages", torch_render_stages, true},
                                Writer{"TorchSlices", torch_slices, true}, Writer{"Rocprof", rocprof, false},
                                Writer{"Generic", generic, false}),
                         [](const auto& test) { return test.param.name; });

// "gemm compute 110+20 on stream 7 of device 1"
std::vector<std::string> work_of(const Trace& trace) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const Track& track = trace.track_of(i);
    if (!trace.is_work(i)) continue;
    EXPECT_EQ(track.kind, TrackKind::stream);
    texts.push_back(fmt::format("{} {} {}+{} on stream {} of device {}", name_of(trace.name(i)),
                                to_string(trace.tag(i).kind), trace.start_ns()[i], trace.duration_ns()[i], track.stream,
                                track.device));
  }
  return texts;
}

TEST_P(PftraceReader, ReadsKernelsAndCopies) {
  const Trace trace = read_trace_text(GetParam().bytes());
  EXPECT_THAT(
      work_of(trace),
      UnorderedElementsAre("gemm compute 110+20 on stream 7 of device 1", "Memcpy copy 120+25 on stream 9 of device 1",
                           std::string(kAllReduce) + " compute 130+30 on stream 20 of device 1"));
  EXPECT_THAT(trace.import.skipped, IsEmpty());
  EXPECT_EQ(trace.metadata.at("format"), "pftrace");
  EXPECT_EQ(trace.metadata.at("rank"), "assumed");
}

TEST_P(PftraceReader, JoinsCallsWithTheWorkThatTheyLaunched) {
  const Trace trace = read_trace_text(GetParam().bytes());
  std::vector<std::string> launches;
  for (const Flow& flow : trace.flows)
    launches.push_back(fmt::format("{} to {}", trace.start_ns()[flow.from], name_of(trace.name(flow.to))));
  EXPECT_THAT(launches, UnorderedElementsAre("80 to gemm", "90 to Memcpy", "100 to " + std::string(kAllReduce)));
}

TEST_P(PftraceReader, ShowsTheStepAsARange) {
  const Trace trace = read_trace_text(GetParam().bytes());
  for (std::size_t i = 0; i < trace.size(); ++i) {
    if (trace.duration_ns()[i] != 950) continue;
    EXPECT_THAT(name_of(trace.name(i)), EndsWith("4"));
    EXPECT_EQ(trace.track_of(i).kind, TrackKind::range);
    EXPECT_EQ(trace.track_of(i).stream, 901);
    return;
  }
  ADD_FAILURE() << "no step";
}

TEST_P(PftraceReader, GivesACollectiveItsRecord) {
  const Trace trace = read_trace_text(GetParam().bytes());
  const CommunicationRecord* record = trace.communication(slice_named(trace, kAllReduce));
  if (!GetParam().has_record) return;
  ASSERT_NE(record, nullptr);
  ASSERT_EQ(record->transfers.size(), 1U);
  EXPECT_EQ(record->transfers[0].collective, Collective::all_reduce);
  EXPECT_EQ(record->transfers[0].bytes, 4000);
  EXPECT_EQ(trace.groups.at(record->group).ranks, (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(name_of(trace.groups.at(record->group).description), "DATA_PARALLEL_GROUP");
}

TEST(PftraceLaunches, HaveTheirGrid) {
  for (const std::string& bytes : {torch_render_stages(), torch_slices()}) {
    const Trace trace = read_trace_text(bytes);
    EXPECT_EQ(trace.shape(slice_named(trace, "gemm")).grid, (std::array<std::uint32_t, 3>{4, 2, 1}));
  }
  const Trace trace = read_trace_text(rocprof());  // threads of the grid / threads of a block
  EXPECT_EQ(trace.shape(slice_named(trace, "gemm")).grid, (std::array<std::uint32_t, 3>{8, 1, 1}));
}

TEST(PftraceCollectives, RcclFunctionAroundTheLaunchNamesThem) {
  const Trace trace = read_trace_text(rocprof());
  EXPECT_EQ(name_of(trace.tag(slice_named(trace, kAllReduce)).purpose), "all_reduce");
}

TEST(PftraceCollectives, OfARenderStageComeFromNcclWithoutAHostRecord) {
  PftraceFile file;
  file.intern({{Table::stages, {1, "Kernel"}}, {Table::stages, {9, "[9] DP"}}}, {{1, kAllReduce}});
  file.stage({1,
              100,
              50,
              1,
              9,
              0,
              1,
              0,
              {{"stream id", "20"},
               {"pg_name", "3"},
               {"func", "AllReduce"},
               {"datatype", "ncclBfloat16"},
               {"count", "512"},
               {"seq", "7"}}});
  const Trace trace = read_trace_text(file.bytes);
  ASSERT_EQ(trace.size(), 1U);
  ASSERT_NE(trace.communication(0), nullptr);
  EXPECT_EQ(trace.communication(0)->sequence, 7U);
  EXPECT_EQ(trace.communication(0)->transfers.at(0).bytes, 1024);
  EXPECT_EQ(trace.track_of(0).name, "[9] DP");
  EXPECT_EQ(trace.track_of(0).stream, 20);
}

std::string with_field(std::uint32_t field, const std::string& content) {
  std::string message, bytes;
  protozero::pbf_writer(message).add_bytes(field, content);
  protozero::pbf_writer(bytes).add_message(1, message);
  return bytes;
}

TEST(PftracePackets, MayBeCompressed) {
  const std::string plain = torch_render_stages();
  const std::string zlib = zlib_stream(plain);
  const std::vector<std::string> work = work_of(read_trace_text(plain));
  EXPECT_EQ(work_of(read_trace_text(with_field(50, zlib))), work);
  EXPECT_EQ(work_of(read_trace_text(with_field(133, zstd_frame(plain)))), work);
  const Trace cut = read_trace_text(with_field(50, zlib.substr(0, zlib.size() - 8)));
  EXPECT_EQ(cut.import.skipped.at("compressed packet that is truncated, corrupt or too large"), 1);
}

TEST(PftraceSlices, ArePairedByTimeIfAllStartsComeFirst) {
  PftraceFile file;
  file.track(1, 0, "stream 7");
  const std::vector<PftraceFile::Slice> slices{{1, 300, 400, "c"}, {1, 100, 200, "a"}, {1, 200, 300, "b"}};
  for (const auto& slice : slices) file.begin(slice);
  for (const auto& slice : slices) file.end(slice);
  EXPECT_THAT(work_of(read_trace_text(file.bytes)),
              ElementsAre("a compute 100+100 on stream 7 of device 0", "b compute 200+100 on stream 7 of device 0",
                          "c compute 300+100 on stream 7 of device 0"));
}

TEST(PftraceSlices, WithoutAPartnerAreCounted) {
  PftraceFile file;
  file.track(1, 0, "stream 7");
  file.track(2, 0, "stream 8");
  file.slice({1, 100, 200, "a"});
  file.begin({2, 300, 0, "b"});
  file.end({2, 0, 350, ""});
  file.end({2, 0, 360, ""});
  file.begin({1, 400, 0, "c"});
  const Trace trace = read_trace_text(file.bytes);
  EXPECT_EQ(names_of(trace), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(trace.import.skipped.at("end of a slice without a start"), 1);
  EXPECT_EQ(trace.import.skipped.at("slice without an end"), 1);
}

TEST(PftraceSlices, HaveTheTimesThatTheirArgumentsRepeat) {
  PftraceFile file;
  file.track(1, 0, "STREAM [\" 7 \"] ");
  file.slice({1, 5, 9, "a", "kernel_dispatch", {{"begin_ns", std::int64_t{100}}, {"end_ns", std::int64_t{200}}}});
  EXPECT_THAT(work_of(read_trace_text(file.bytes)), ElementsAre("a compute 100+100 on stream 7 of device 0"));
}

TEST(PftraceClocks, PutTimesIntoUnixTime) {
  PftraceFile file;
  file.clocks({{6, 1000}, {1, 1'790'000'000'000'001'000}});
  file.track(1, 0, "stream 7");
  file.slice({1, 1100, 1200, "a"});
  EXPECT_EQ(read_trace_text(file.bytes).start_ns()[0], 1'790'000'000'000'001'100);
}

TEST(PftraceClocks, ThatAreNotDefinedAreCounted) {
  PftraceFile file;
  file.track(1, 0, "stream 7");
  file.slice({1, 100, 200, "a"});
  file.begin({1, 300, 400, "b"}, 64);
  file.slice({1, -5, -1, "c"});
  const Trace trace = read_trace_text(file.bytes);
  EXPECT_EQ(trace.size(), 1U);
  EXPECT_EQ(trace.import.skipped.at("time on an unknown clock, or overflowing"), 3);
}

TEST(PftraceTracks, OfSeveralDevicesAreRanks) {
  PftraceFile file;
  for (std::uint64_t device = 0; device < 2; ++device) {
    file.track(1 + 10 * device, 0, fmt::format("GPU {}", device));
    file.track(2 + 10 * device, 1 + 10 * device, "stream 7");
    file.slice({2 + 10 * device, 100, 200, "gemm"});
  }
  const Trace trace = read_trace_text(file.bytes);
  ASSERT_EQ(trace.tracks.size(), 2U);
  for (const Track& track : trace.tracks) EXPECT_EQ(track.rank, track.device);
}

TEST(PftraceDamage, KeepsEventsBeforeACut) {
  for (const auto& bytes : {torch_render_stages(), torch_slices(), rocprof(), generic()})
    for (std::size_t length = 1; length < bytes.size(); ++length) {
      Trace cut;
      if (error_of([&] { cut = pftrace::read(std::string_view(bytes).substr(0, length), "cut"); }) != "") continue;
      EXPECT_LE(work_of(cut).size(), 3U);
    }
  PftraceFile file;
  file.track(1, 0, "stream 7");
  file.slice({1, 100, 200, "a"});
  const Trace cut = read_trace_text(file.bytes + std::string("\x0a\x50 few", 6));
  EXPECT_EQ(cut.size(), 1U);
  EXPECT_EQ(cut.import.skipped.at("truncated packet"), 1);
  const Trace broken = read_trace_text(file.bytes + with_field(11, "\xff\xff"));
  EXPECT_EQ(broken.import.skipped.size(), 1U);
}

TEST(PftraceRefusal, NamesTheContentsAndWhatToRecord) {
  PftraceFile file;
  file.thread(2, 0, 900, 901, "RenderThread");
  file.slice({2, 100, 200, "draw", "gfx"});
  EXPECT_THAT(error_of([&] { read_trace_text(file.bytes); }),
              AllOf(HasSubstr("\"gfx\""), HasSubstr("\"RenderThread\""), HasSubstr("rocprofv3")));
}

TEST(PftraceRefusal, LeavesAnXplaneToOthers) {
  std::string plane, bytes;
  protozero::pbf_writer writer(plane);
  writer.add_int64(1, 1);
  writer.add_string(2, "/device:GPU:0");
  writer.add_bytes(6, "\x08\x01");
  protozero::pbf_writer(bytes).add_message(1, plane);
  EXPECT_THAT(error_of([&] { read_trace_text(bytes); }), HasSubstr("an XPlane of JAX"));
}

TEST(PftraceReading, CanBeCancelled) {
  const TemporaryFolder folder;
  write_text(folder / "t.pftrace", torch_slices());
  Watch watch(2);
  Reading reading(watch);
  EXPECT_THROW(read_trace(folder / "t.pftrace", reading), Cancelled);
}

}  // namespace
}  // namespace underlap::formats
