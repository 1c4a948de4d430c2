// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/inspector/inspector_log.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "platform/input/input_file.hpp"

namespace underlap::formats {
namespace {

namespace dom = simdjson::dom;

constexpr std::int64_t kMostMicroseconds = std::int64_t{1} << 52;

std::optional<Collective> collective_of(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, Collective>, 5> kNames{
      {{"AllReduce", Collective::all_reduce},
       {"AllGather", Collective::all_gather},
       {"ReduceScatter", Collective::reduce_scatter},
       {"Broadcast", Collective::broadcast},
       {"AlltoAll", Collective::all_to_all}}};
  const auto found = std::ranges::find(kNames, name, &std::pair<std::string_view, Collective>::first);
  return found == kNames.end() ? std::nullopt : std::optional(found->second);
}

std::string text_of(dom::object object, const char* key) {
  std::string_view text;
  return object[key].get(text) == simdjson::SUCCESS ? std::string(text) : "";
}

std::int64_t number_of(dom::object object, const char* key, std::int64_t otherwise = 0) {
  std::int64_t number = 0;
  return object[key].get(number) == simdjson::SUCCESS ? number : otherwise;
}

// The first start of the kernels of a verbose line, in Unix time.
std::int64_t start_of(dom::object performance) {
  dom::array kernels;
  if (performance["event_trace_ts"]["kernel_events"].get(kernels) != simdjson::SUCCESS) return -1;
  std::int64_t first = -1;
  for (const dom::element kernel : kernels) {
    dom::object of;
    if (kernel.get(of) != simdjson::SUCCESS) continue;
    const std::int64_t start = number_of(of, "kernel_start_ts");
    if (start > 0 && start < kMostMicroseconds && (first < 0 || start < first)) first = start;
  }
  return first < 0 ? -1 : 1000 * first;
}

// {"header": {"id": "0x7f8c496ae9f661", "rank": 0, "n_ranks": 2, "nnodes": 1},
//  "metadata": {"inspector_output_format_version": "v4.0", "hostname": "n0", "pid": 77, ...},
//  "coll_perf": {"coll": "AllReduce", "coll_sn": 0, "coll_msg_size_bytes": 8388608, "coll_exec_time_us": 400,
//                "coll_busbw_gbs": 20.97, "event_trace_ts": {"kernel_events": [{"kernel_start_ts":
//                1790000000000500}]}}}
std::string_view add_line(dom::element line, InspectorLog& log) {
  dom::object header, metadata, performance;
  if (line["header"].get(header) != simdjson::SUCCESS || line["metadata"].get(metadata) != simdjson::SUCCESS)
    return "line without a header";
  if (line["coll_perf"].get(performance) != simdjson::SUCCESS) return "line without a collective";
  const auto collective = collective_of(text_of(performance, "coll"));
  if (!collective) return "collective of an unknown name";
  InspectorRecord record;
  record.process = fmt::format("{} {}", text_of(metadata, "hostname"), number_of(metadata, "pid"));
  record.communicator = text_of(header, "id");
  record.name = text_of(header, "comm_name");
  if (record.name == "unknown") record.name.clear();
  const std::int64_t rank = number_of(header, "rank", -1), num_ranks = number_of(header, "n_ranks");
  constexpr std::int64_t kMostRanks = 1 << 24;
  if (record.communicator.empty() || rank < 0 || num_ranks <= rank || num_ranks > kMostRanks)
    return "line without a communicator";
  record.rank = static_cast<std::int32_t>(rank);
  record.num_ranks = static_cast<std::int32_t>(num_ranks);
  record.collective = *collective;
  record.sequence = number_of(performance, "coll_sn", -1);
  record.bytes = number_of(performance, "coll_msg_size_bytes");
  const std::int64_t duration = number_of(performance, "coll_exec_time_us", -1);
  double bus = 0;
  if (record.sequence < 0 || record.sequence > kMostMicroseconds || record.bytes < 0 || duration <= 0 ||
      duration > kMostMicroseconds || performance["coll_busbw_gbs"].get(bus) != simdjson::SUCCESS || !(bus >= 0))
    return "line without a valid sequence number, size, time or bandwidth";
  record.duration_ns = 1000 * duration;
  record.bus_gb_per_s = bus;
  record.start_ns = start_of(performance);
  log.records.push_back(std::move(record));
  return {};
}

}  // namespace

InspectorLog read_inspector_log(const std::filesystem::path& file) {
  const std::string text = read_input_file(file);
  InspectorLog log;
  dom::parser parser;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    dom::element element;
    const bool is_json = parser.parse(line.data(), line.size()).get(element) == simdjson::SUCCESS;
    const std::string_view fault = is_json ? add_line(element, log) : "line that is not valid JSON";
    if (!fault.empty()) ++log.skipped[std::string(fault)];
  }
  if (log.records.empty())
    throw std::invalid_argument(
        fmt::format("{}: no collectives of the NCCL or RCCL Inspector; give the files that the plugin wrote with "
                    "NCCL_INSPECTOR_DUMP_DIR",
                    file.string()));
  return log;
}

}  // namespace underlap::formats
