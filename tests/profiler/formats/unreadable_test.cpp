// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/unreadable.hpp"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <ostream>
#include <vector>

#include "profiler/formats/format.hpp"
#include "tests/profiler/error_of.hpp"
#include "tests/profiler/formats/nsys_file.hpp"
#include "tests/profiler/temporary_folder.hpp"

namespace underlap::formats {
namespace {

using namespace ::testing;        // NOLINT
using namespace testing_support;  // NOLINT
using std::string_view_literals::operator""sv;

struct Known {
  std::string name;
  std::string begin;
  std::string what;     // part of the sentence
  std::string instead;  // another part
};

std::ostream& operator<<(std::ostream& out, const Known& known) { return out << known.name; }

const std::vector<Known> kKnown{
    {"LfsPointer", "version https://git-lfs.github.com/spec/v1\noid sha256:92\nsize 12345\n", "Git LFS",
     "git lfs pull"},
    {"NsightReport", "NVIDIA Tegra Profiler Report 1.\n\x0bLocal (CLI)", "Nsight Systems report",
     "nsys export --type=sqlite --include-blobs=true FILE"},
    {"ComputeReport", std::string("NVR\0\2\0\0\0\10\7", 10), "Nsight Compute", "torch.profiler"},
    {"MemorySnapshot", "\x80\4\x95W}\x94(\x8c\10segments\x94]\x94\x8c\15device_traces", "memory snapshot",
     "ProfilerActivity.CUDA"},
    {"FlightRecorder", "\x80\2}q(versionq\1nccl_versionqentriesq]", "Flight Recorder", "ProfilerActivity.CUDA"},
    {"FlightRecorderJson", R"({"version": "2.7", "nccl_version": "2.27.5", "pg_config": {}, "pg_status": {})",
     "Flight Recorder", "ProfilerActivity.CUDA"},
    {"ExecutionTrace", R"({"schema": "1.1.1-chakra.0.0.4", "pid": 1, "nodes": [)", "execution trace", "Kineto trace"},
    {"Inspector", R"({"header":{"id":"0x9a","rank":0},"metadata":{"inspector_output_format_version":"v4.0"}})",
     "NCCL Inspector", "this log with --inspector"},
    {"InspectorPrometheus", R"(nccl_bus_bandwidth_gbs{version="v5.1"} 678.2)", "NCCL Inspector", "GPU work of the run"},
    {"ProfilerPlugin", R"([
{"name": "Group API", "cat": "GROUP_API", "ph": "b", "id": 0, "pid": 77, "tid": 1, "ts": 1000.000000}, )",
     "NCCL's example profiler plugin", "GPU work of the run"},
    {"OldProfilerPlugin", R"([{"name": "Group", "cat": "GROUP", "ph": "b", "id": 0, "pid": 77})",
     "NCCL's example profiler plugin", "GPU work of the run"},
    {"Horovod", R"([{"ph": "B", "name": "NEGOTIATE_ALLREDUCE", "ts": 1, "pid": 1})", "Horovod", "torch.profiler"},
    {"RocprofTable", R"("Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name")",
     "rocprofv3 (CSV)", "--output-format json"},
    {"OldRocprofTable", R"("Index","KernelName","gpu-id","DispatchNs","BeginNs","EndNs")", "rocprof (CSV)",
     "--output-format json"},
    {"NsightStatistics", "Time (%),Total Time (ns),Instances,Avg (ns),Name\n", "statistics of an Nsight Systems",
     "nsys export"},
    {"AscendTable", "\xEF\xBB\xBFStep,Type,Index,Computing,Communication(Not Overlapped),Overlapped\n", "Ascend",
     "trace_view.json"},
    {"DeepSpeedLog", "Comm. Op            Message Size        Count       Total Latency(ms)\n", "DeepSpeed",
     "ProfilerActivity.CUDA"},
    {"Xplane", "\n\xa9\x4c\x12\x0e/host:metadata\"\xa3\x2c", "XPlane", ".trace.json.gz"},
    {"XplaneWithId", "\n\x21\x08\x01\x12\x0d/device:GPU:0", "XPlane", ".trace.json.gz"}};

class Unreadable : public TestWithParam<Known> {};

TEST_P(Unreadable, IsRejectedWithWhatToGiveInsteadByAnyExtension) {
  const TemporaryFolder folder;
  for (const char* name : {"t.json", "t.pftrace", "t.sqlite", "t.txt"}) {
    write_text(folder / name, GetParam().begin);
    EXPECT_THAT(error_of([&] { read_trace(folder / name); }),
                AllOf(HasSubstr(GetParam().what), HasSubstr("; "), HasSubstr(GetParam().instead)))
        << name;
    EXPECT_FALSE(is_trace(folder / name)) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Files, Unreadable, ValuesIn(kKnown), [](const auto& tested) { return tested.param.name; });

TEST(UnreadableText, IsEmptyForATraceOrAnUnknownFile) {
  for (const std::string_view text :
       {""sv, "\n"sv, "hello"sv, "[]"sv, "{}"sv, "\n\x05\x40\xb0\x09\x50\x01"sv,
        R"({"schemaVersion": 1, "distributedInfo": {"nccl_version": "2.27.5"}, "traceEvents": [)"sv,
        R"x([{"ph": "X", "cat": "kernel", "name": "Communication(Not Overlapped)"})x"sv})
    EXPECT_EQ(unreadable(text), "") << text;
}

struct KnownTables {
  std::string name;
  std::set<std::string> tables;
  std::string what;
  std::string instead;
};

std::ostream& operator<<(std::ostream& out, const KnownTables& known) { return out << known.name; }

const std::vector<KnownTables> kKnownTables{
    {"Rocpd", {"rocpd_kernel_dispatch_019a", "rocpd_metadata_019a", "rocpd_string_019a"}, "rocprofv3", "json"},
    {"Rpd", {"rocpd_api", "rocpd_kernelapi", "rocpd_op", "rocpd_string"}, "rocmProfileData", "rocprofv3"},
    {"AscendDatabase", {"COMMUNICATION_OP", "STRING_IDS", "TASK"}, "Ascend", "trace_view.json"},
    {"AscendAnalysis", {"CommAnalyzerBandwidth", "CommAnalyzerTime", "StepTraceTime"}, "Ascend", "trace_view.json"},
    {"NsightWithoutTables", {"META_DATA_EXPORT", "TARGET_INFO_GPU"}, "without CUDA or NVTX", "--trace=cuda,nvtx"}};

class UnreadableDatabase : public TestWithParam<KnownTables> {};

TEST_P(UnreadableDatabase, IsRejectedByItsTablesWithWhatToGiveInstead) {
  const TemporaryFolder folder;
  {
    NsysFile file(folder / "t.db");
    file.run("DROP TABLE StringIds");
    for (const std::string& table : GetParam().tables)
      file.run("CREATE TABLE IF NOT EXISTS \"" + table + "\" (id INTEGER PRIMARY KEY)");
  }
  EXPECT_THAT(error_of([&] { read_trace(folder / "t.db"); }),
              AllOf(HasSubstr(GetParam().what), HasSubstr("; "), HasSubstr(GetParam().instead)));
}

INSTANTIATE_TEST_SUITE_P(Tables, UnreadableDatabase, ValuesIn(kKnownTables),
                         [](const auto& tested) { return tested.param.name; });

TEST(UnreadableTables, ThatAreUnknownAreNotNamed) {
  EXPECT_EQ(unreadable_database({}), "");
  EXPECT_EQ(unreadable_database({"bookmarks"}), "");
}

TEST(UnreadableCases, AreNamed) {
  const char* folder = std::getenv("UNDERLAP_CASES");
  if (folder == nullptr) GTEST_SKIP() << "UNDERLAP_CASES is not set";
  const std::filesystem::path plugin = std::filesystem::path(folder) / "nccl_profiler_plugin";
  EXPECT_THAT(error_of([&] { read_trace(plugin / "t.json"); }), HasSubstr("example profiler plugin"));
  EXPECT_THAT(error_of([&] { read_trace(plugin / "inspector.log"); }), HasSubstr("NCCL Inspector"));
}

}  // namespace
}  // namespace underlap::formats
