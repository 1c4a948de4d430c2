// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/unreadable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace underlap::formats {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::string_view kSameRun = "give the torch.profiler or Nsight Systems trace of the GPU work of the run";
constexpr std::string_view kWithLog = "give the trace of the same run (and this log with --inspector)";
constexpr std::string_view kAscendText = "export as text (export_type), which writes trace_view.json";
constexpr std::string_view kNsysExport = "export it: nsys export --type=sqlite --include-blobs=true FILE";
constexpr std::string_view kRocprofJson = "record with rocprofv3 --output-format json";

// Matches a file that starts with `begins` (after white space), and whose first bytes contain all of `holds`.
struct FileRule {
  std::string_view begins;
  std::array<std::string_view, 2> holds;  // "": matches any file
  std::string_view what;
  std::string_view instead;
};

constexpr std::array kFiles{
    FileRule{
        "version https://git-lfs.github.com/spec/", {}, "a pointer of Git LFS, not the file", "run `git lfs pull`"},
    FileRule{"NVIDIA Tegra Profiler Report", {}, "an Nsight Systems report", kNsysExport},
    FileRule{
        "NVR\0"sv, {}, "an Nsight Compute report, whose kernels ran one by one", "record with nsys or torch.profiler"},
    FileRule{"\x80", {"segments", "device_traces"}, "a memory snapshot of PyTorch", kRecordWithTorch},
    FileRule{"\x80",
             {"nccl_version", "entries"},
             "a dump of PyTorch's Flight Recorder, which has collectives without kernels",
             kRecordWithTorch},
    FileRule{"{",
             {"\"nccl_version\"", "\"pg_status\""},
             "a dump of PyTorch's Flight Recorder, which has collectives without kernels",
             kRecordWithTorch},
    FileRule{"{",
             {"\"schema\"", "-chakra"},
             "an execution trace of PyTorch, which has no GPU times",
             "give the Kineto trace of the same run"},
    FileRule{"{", {"\"inspector_output_format_version\""}, "a log of NCCL Inspector, which has no compute", kWithLog},
    FileRule{"", {"nccl_bus_bandwidth_gbs{"}, "a Prometheus file of NCCL Inspector, which has no compute", kSameRun},
    FileRule{"[", {"\"GROUP_API\""}, "a trace of NCCL's example profiler plugin, which has no compute", kSameRun},
    FileRule{"[",
             {"\"GROUP\"", "\"ph\": \"b\""},
             "a trace of NCCL's example profiler plugin, which has no compute",
             kSameRun},
    FileRule{"[",
             {"NEGOTIATE_", "\"ph\""},
             "a Horovod timeline, which shows the host only",
             "record with nsys or torch.profiler"},
    FileRule{"", {"\"Kind\",\"Agent_Id\"", "\"Kernel_Name\""}, "a table of rocprofv3 (CSV)", kRocprofJson},
    FileRule{"", {"\"KernelName\"", "\"BeginNs\""}, "a table of rocprof (CSV)", kRocprofJson},
    FileRule{"",
             {"Total Time (ns),", "Instances,"},
             "statistics of an Nsight Systems report (CSV)",
             "export the report: nsys export --type=sqlite --include-blobs=true FILE"},
    FileRule{"",
             {"Computing,Communication(Not Overlapped)"},
             "a summary table of Ascend's profiler (CSV)",
             "give the trace_view.json of the same run"},
    FileRule{
        "", {"Comm. Op", "Message Size"}, "a log of DeepSpeed's communication, which has no compute", kRecordWithTorch},
};

// Matches a database with all of these tables; each is the start of a table's name.
struct DatabaseRule {
  std::array<std::string_view, 2> tables;  // "": matches any database
  std::string_view what;
  std::string_view instead;
};

constexpr std::array kDatabases{
    DatabaseRule{{"rocpd_metadata_"}, "a database of rocprofv3 (rocpd)", kRocprofJson},
    DatabaseRule{
        {"rocpd_op", "rocpd_api"}, "a database of rocmProfileData (RPD)", "record with rocprofv3 or torch.profiler"},
    DatabaseRule{
        {"CommAnalyzer"}, "an analysis of Ascend's profiler", "give the trace_view.json that it was made from"},
    DatabaseRule{
        {"ClusterTimeSummary"}, "an analysis of Ascend's profiler", "give the trace_view.json that it was made from"},
    DatabaseRule{
        {"StepTraceTime"}, "an analysis of Ascend's profiler", "give the trace_view.json that it was made from"},
    DatabaseRule{{"STRING_IDS", "TASK"}, "a database of Ascend's profiler", kAscendText},
    DatabaseRule{{"STRING_IDS", "COMMUNICATION_OP"}, "a database of Ascend's profiler", kAscendText},
    DatabaseRule{{"STRING_IDS", "CANN_API"}, "a database of Ascend's profiler", kAscendText},
    DatabaseRule{{"TARGET_INFO_"}, "an Nsight Systems export without CUDA or NVTX tables", kRecordWithNsys},
    DatabaseRule{{"META_DATA_EXPORT"}, "an Nsight Systems export without CUDA or NVTX tables", kRecordWithNsys},
};

std::string sentence(std::string_view what, std::string_view instead) { return fmt::format("{}; {}", what, instead); }

// 0a a9 4c 12 0e "/host:metadata": the first plane, its bytes, and its name; an id (08 01) may precede the name.
// Of https://github.com/openxla/xla, xplane.proto.
bool is_xplane(std::string_view text) {
  if (!text.starts_with('\n')) return false;
  text.remove_prefix(1);
  while (!text.empty() && (text.front() & 0x80) != 0) text.remove_prefix(1);
  if (!text.empty()) text.remove_prefix(1);
  if (text.starts_with('\x08')) text.remove_prefix(std::min<std::size_t>(2, text.size()));
  if (text.size() < 3 || text.front() != '\x12') return false;
  text.remove_prefix(2);
  return text.starts_with("/host:") || text.starts_with("/device:");
}

}  // namespace

std::string unreadable(std::string_view text) {
  if (is_xplane(text)) return sentence("an XPlane of JAX or TensorFlow", "give the .trace.json.gz in the same folder");
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  for (const FileRule& rule : kFiles)
    if (text.starts_with(rule.begins) &&
        std::ranges::all_of(rule.holds, [&](std::string_view part) { return text.find(part) != text.npos; }))
      return sentence(rule.what, rule.instead);
  return "";
}

std::string unreadable_database(const std::set<std::string>& tables) {
  const auto has = [&](std::string_view start) {
    const auto found = tables.lower_bound(std::string(start));
    return found != tables.end() && found->starts_with(start);
  };
  for (const DatabaseRule& rule : kDatabases)
    if (std::ranges::all_of(rule.tables, has)) return sentence(rule.what, rule.instead);
  return "";
}

}  // namespace underlap::formats
