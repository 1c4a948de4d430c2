// SPDX-License-Identifier: Apache-2.0
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <exception>
#include <initializer_list>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "platform/input/input_file.hpp"
#include "profiler/formats/format.hpp"
#include "profiler/formats/kineto/decimal_time.hpp"
#include "profiler/formats/kineto/header.hpp"
#include "profiler/formats/kineto/reader.hpp"

namespace underlap::formats {
namespace ascend {
namespace {

namespace dom = simdjson::dom;
namespace fs = std::filesystem;

// What torch_npu writes in files next to a trace.
struct Companions {
  std::optional<std::int32_t> rank;
  std::vector<KinetoProcessGroup> groups;  // with the names that communication rows use
};

constexpr std::int64_t kMostRanks = 1 << 24;

std::optional<std::int32_t> rank_from(std::int64_t number) {
  if (number < 0 || number >= kMostRanks) return std::nullopt;
  return static_cast<std::int32_t>(number);
}

// "profiler_info_3.json" names rank 3. With several such files the rank is unknown.
std::optional<std::int32_t> rank_in(const fs::path& folder) {
  constexpr std::string_view kPrefix = "profiler_info_", kSuffix = ".json";
  std::set<std::int32_t> ranks;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string file = entry->path().filename().string();
    std::string_view number = file;
    if (!number.starts_with(kPrefix) || !number.ends_with(kSuffix)) continue;
    number.remove_prefix(kPrefix.size());
    number.remove_suffix(kSuffix.size());
    if (const auto rank = rank_from(integer_of(number).value_or(-1))) ranks.insert(*rank);
  }
  return ranks.size() == 1 ? std::optional(*ranks.begin()) : std::nullopt;
}

std::string text_of(const fs::path& file) {
  constexpr std::size_t kMostBytes = std::size_t{16} << 20;
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return {};
  try {
    return read_input_file(file, {.bytes = kMostBytes}, GivenPipes::refused);
  } catch (const std::exception&) {
    return {};
  }
}

// {"parallel_group_info": {"group_name_0": {"group_name": "tp", "group_rank": 0, "global_ranks": [0, 1]}}}
std::vector<KinetoProcessGroup> groups_in(const fs::path& folder) {
  std::vector<KinetoProcessGroup> groups;
  const std::string text = text_of(folder / "profiler_metadata.json");
  dom::parser parser;
  dom::element metadata;
  dom::object list;
  if (text.empty() || parser.parse(text).get(metadata) != simdjson::SUCCESS) return groups;
  if (metadata["parallel_group_info"].get(list) != simdjson::SUCCESS) return groups;
  for (const auto& [name, value] : list) {
    KinetoProcessGroup group{.name = std::string(name), .description = {}, .size = 0, .ranks = {}};
    std::string_view description;
    dom::array ranks;
    if (value["group_name"].get(description) == simdjson::SUCCESS) group.description = std::string(description);
    if (value["global_ranks"].get(ranks) == simdjson::SUCCESS)
      for (const dom::element rank : ranks) {
        std::int64_t number = -1;
        if (rank.get(number) != simdjson::SUCCESS) continue;
        if (const auto valid = rank_from(number)) group.ranks.push_back(*valid);
      }
    group.size = static_cast<std::int32_t>(group.ranks.size());
    groups.push_back(std::move(group));
  }
  return groups;
}

// Reads `profiler_info_RANK.json` and `profiler_metadata.json` in the folder of the trace or in the one above it.
// Skips a file that is missing or cannot be read.
Companions read_companions(const fs::path& trace) {
  const fs::path folder = trace.has_parent_path() ? trace.parent_path() : fs::path(".");
  Companions companions;
  for (const fs::path& place : {folder, folder / ".."}) {
    if (!companions.rank) companions.rank = rank_in(place);
    if (companions.groups.empty()) companions.groups = groups_in(place);
  }
  return companions;
}

struct Word {
  std::string_view hccl;
  std::string_view purpose;
};

// "hcom_allReduce__606_0_1" is an all-reduce of the group whose number ends in 606.
std::string_view purpose_of(std::string_view name) {
  constexpr std::array<Word, 12> kWords{{{"allreduce", "all_reduce"},
                                         {"allgather", "all_gather"},
                                         {"reducescatter", "reduce_scatter"},
                                         {"alltoall", "all_to_all"},
                                         {"broadcast", "broadcast"},
                                         {"batchsendrecv", "send_receive"},
                                         {"send", "send"},
                                         {"receive", "recv"},
                                         {"recv", "recv"},
                                         {"reduce", "reduce"},
                                         {"scatter", "scatter"},
                                         {"gather", "gather"}}};
  std::string lower(name);
  for (char& c : lower)
    if ('A' <= c && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  for (const auto& [hccl, purpose] : kWords)
    if (lower.find(hccl) != std::string::npos) return purpose;
  return "communication";
}

// HCCL's types, in the words of PyTorch's profiler.
std::string_view element_of(std::string_view dtype) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kTypes{{{"FP32", "Float"},
                                                                                  {"BFP16", "BFloat16"},
                                                                                  {"BF16", "BFloat16"},
                                                                                  {"FP16", "Half"},
                                                                                  {"FP64", "Double"},
                                                                                  {"INT64", "Long"},
                                                                                  {"INT32", "Int"},
                                                                                  {"INT16", "Short"},
                                                                                  {"INT8", "Char"},
                                                                                  {"UINT8", "Byte"}}};
  const auto found = std::ranges::find(kTypes, dtype, &std::pair<std::string_view, std::string_view>::first);
  return found == kTypes.end() ? std::string_view() : found->second;
}

bool is_collective_name(std::string_view name) { return name.starts_with("hcom_"); }

bool has_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

// "AI_CORE", "MIX_AIC" and "FFTS_PLUS" compute, as does "Other", which msprof writes for kernels of some chips;
// "EVENT_WAIT_SQE" waits, "SDMA_SQE" and "PCIE_DMA_SQE" copy. Fails for a type that no version until CANN 8.2 writes
// and that does not compute: it then counts as compute.
KinetoCategory category_of_task(std::string_view type) {
  if (has_any(type, {"SDMA", "PCIE_DMA", "MEMCPY", "DVPP"})) return KinetoCategory::copy;
  if (has_any(type, {"WAIT", "EVENT", "NOTIFY", "RECORD", "MAINTENANCE", "PROFILER", "PLACE_HOLDER", "PLACEHOLDER",
                     "MODEL", "STREAM", "CMO", "VALUE", "BARRIER", "LABEL", "NOP", "RDMA", "TASK_TIMEOUT"}))
    return KinetoCategory::sync;
  return KinetoCategory::kernel;
}

bool is_group_row(std::string_view thread) {
  return thread.starts_with("Group ") && thread.ends_with(" Communication");
}

// "group_name_0" of "Group group_name_0 Communication".
std::string_view group_in(std::string_view thread) {
  constexpr std::string_view kBefore = "Group ", kAfter = " Communication";
  return thread.substr(kBefore.size(), thread.size() - kBefore.size() - kAfter.size());
}

// The device of each process: communication processes are in the order of the device processes.
std::map<KinetoId, std::int32_t> numbered(const std::set<KinetoId>& processes, std::size_t limit) {
  std::map<KinetoId, std::int32_t> numbers;
  std::size_t next = 0;
  for (const KinetoId& process : processes)
    numbers[process] = static_cast<std::int32_t>(std::min(next++, limit == 0 ? std::size_t{0} : limit - 1));
  return numbers;
}

// `trace_view.json` of torch_npu and `msprof_TIME.json` of msprof: an array of events without categories, in which
// names of rows may come after the rows.
//
// A transfer appears up to three times: as one row of its group, as the parts of each plane, and as the tasks that do
// it on the device's streams. Only the first counts as work. The rows of "Overlap Analysis" are msprof's own result;
// they are kept as ranges.
class Dialect : public KinetoDialect {
 public:
  explicit Dialect(Companions companions) : companions_(std::move(companions)) {}

  std::string_view format() const override { return "ascend"; }
  std::string_view advice() const override {
    return "give trace_view.json of torch_npu, or msprof_TIME.json of `msprof --export=on`";
  }

  void interpret(KinetoSlice& slice, const KinetoForeign& foreign, const KinetoParts& parts) override {
    constexpr std::array<std::string_view, 4> kOverlapAnalysis{"Computing", "Communication",
                                                               "Communication(Not Overlapped)", "Free"};
    const std::string_view name = name_of(slice.row.name);
    if (foreign.operation != kNoName) return interpret_task(slice, foreign, parts);
    if (is_collective_name(name)) return interpret_collective(slice, foreign);
    if (foreign.plane_stream >= 0) plane_streams_.emplace(slice.lane.pid, foreign.plane_stream);
    if (foreign.plane_stream >= 0 || std::ranges::find(kOverlapAnalysis, name) != kOverlapAnalysis.end()) {
      slice.row.category = KinetoCategory::gpu_annotation;
      slice.work.device = 0;
    } else if (name.starts_with("ProfilerStep#")) {
      slice.row.category = KinetoCategory::annotation;
    } else if (foreign.correlation > 0) {
      slice.row.category = KinetoCategory::call;
      slice.row.id = foreign.correlation;
    }
  }

  void finish(KinetoParts& parts, KinetoHeader& header) override {
    header.rank = companions_.rank;
    promote_groups(parts);
    if (communication_.empty() && parts.stated.empty()) take_tasks_as_communication(parts);
    number_devices();
    leave_out_repeated_tasks(parts);
    name_groups(parts, header);
    place_tracks(parts, header);
  }

  std::string refusal(const Trace& trace) const override {
    for (std::size_t i = 0; i < trace.size(); ++i)
      if (trace.is_work(i)) return {};
    return "an Ascend trace without tasks of an NPU; record with torch_npu.profiler.profile(activities=[CPU, NPU]), "
           "and give ASCEND_PROFILER_OUTPUT/trace_view.json";
  }

 private:
  // Work of a device, by slice.
  struct Task {
    std::uint32_t slice;
    KinetoId process;
    std::int32_t stream;
    std::int64_t connection;
    bool computes;  // on a matrix unit, which no transfer uses
  };

  // {"name": "aclnnMatmul_MatMulV2_MatMulV2", "pid": 800, "tid": 7, "ts": "1790000000000000.000", "dur": 350.0,
  //  "args": {"Task Type": "AI_CORE", "Stream Id": 7, "Task Id": 7, "connection_id": 2}, "ph": "X"}
  void interpret_task(KinetoSlice& slice, const KinetoForeign& foreign, const KinetoParts& parts) {
    const std::string_view type = name_of(foreign.operation);
    slice.row.category = category_of_task(type);
    slice.row.id = foreign.correlation;
    slice.work.device = 0;
    slice.work.stream = foreign.stream;
    slice.work.has_stream = foreign.stream >= 0;
    hardware_.insert(slice.lane.pid);
    tasks_.push_back({.slice = static_cast<std::uint32_t>(parts.trace.size()),
                      .process = slice.lane.pid,
                      .stream = foreign.stream,
                      .connection = foreign.correlation,
                      .computes = has_any(type, {"AI_CORE", "MIX_AIC", "AICORE"})});
  }

  // {"name": "hcom_allReduce__606_0_1", "pid": 900, "tid": 0, "ts": "1790000000000400.000", "dur": 400.0,
  //  "args": {"connection_id": 4, "data_type": "FP32", "alg_type": "RING-NA", "count": 2097152}, "ph": "X"}
  void interpret_collective(KinetoSlice& slice, const KinetoForeign& foreign) {
    slice.row.category = KinetoCategory::kernel;
    slice.row.id = foreign.correlation;
    slice.work.device = 0;
    slice.collective = KinetoCollective{.name = intern(purpose_of(name_of(slice.row.name))),
                                        .dtype = intern(element_of(name_of(foreign.dtype))),
                                        .in_elements = foreign.elements};
    if (foreign.correlation > 0) collectives_.emplace(slice.lane.pid, foreign.correlation);
  }

  // Rows of a group without "hcom_", such as those of LCCL, are communication, too.
  void promote_groups(KinetoParts& parts) {
    Trace& trace = parts.trace;
    std::vector<bool> is_promoted(trace.tracks.size());
    for (std::size_t i = 0; i < trace.tracks.size(); ++i) {
      KinetoLane& lane = parts.lane_of_track[i];
      if (!is_group_row(parts.thread_name(lane))) continue;
      communication_.insert(lane.pid);
      if (lane.category == KinetoCategory::kernel) continue;
      lane.category = KinetoCategory::kernel;
      trace.tracks[i].kind = TrackKind::stream;
      is_promoted[i] = true;
    }
    if (std::ranges::find(is_promoted, true) == is_promoted.end()) return;
    for (std::uint32_t i = 0; i < trace.size(); ++i) {
      if (!is_promoted[trace.track(i)]) continue;
      trace.set_tag(i, {.kind = Kind::compute}, trace.attribution(i));
      parts.stated.push_back({i, {.name = intern(purpose_of(name_of(trace.name(i))))}});
    }
  }

  // A process id has no meaning.
  void number_devices() {
    devices_ = numbered(hardware_, hardware_.size());
    devices_.merge(numbered(communication_, hardware_.size()));
  }

  std::int32_t device_of(const KinetoId& process) const {
    const auto found = devices_.find(process);
    return found == devices_.end() ? 0 : found->second;
  }

  // The rows of groups become streams of their device, after its own.
  void place_tracks(KinetoParts& parts, KinetoHeader& header) const {
    Trace& trace = parts.trace;
    for (const auto& [process, device] : devices_)
      header.rank_of_process.insert_or_assign(process, header.rank.value_or(0) + device);
    std::int32_t next_stream = 0;
    for (const Track& track : trace.tracks)
      if (track.kind == TrackKind::stream) next_stream = std::max(next_stream, std::min(track.stream, 1 << 30) + 1);
    for (std::size_t i = 0; i < trace.tracks.size(); ++i) {
      const KinetoLane& lane = parts.lane_of_track[i];
      Track& track = trace.tracks[i];
      if (!is_of_device(lane.category)) continue;
      track.device = device_of(lane.pid);
      if (hardware_.contains(lane.pid) || !communication_.contains(lane.pid)) continue;
      if (track.kind == TrackKind::stream) track.stream = next_stream++;
    }
  }

  // Tasks on a plane's stream, or enqueued by a collective's call, repeat the transfer in the row of the group. A
  // kernel on a matrix unit may both compute and communicate, and stays. Devices number streams and calls on their own.
  void leave_out_repeated_tasks(KinetoParts& parts) const {
    std::set<std::pair<std::int32_t, std::int32_t>> streams;
    for (const auto& [process, stream] : plane_streams_) streams.emplace(device_of(process), stream);
    std::set<std::pair<std::int32_t, std::int64_t>> connections;
    for (const auto& [process, connection] : collectives_) connections.emplace(device_of(process), connection);
    for (const Task& task : tasks_) {
      const std::int32_t device = device_of(task.process);
      const bool is_repeated = streams.contains({device, task.stream}) ||
                               (connections.contains({device, task.connection}) && !task.computes);
      if (!is_repeated || !parts.trace.is_work(task.slice)) continue;
      Tag tag = parts.trace.tag(task.slice);
      tag.kind = Kind::none;
      parts.trace.set_tag(task.slice, tag, parts.trace.attribution(task.slice));
    }
  }

  // Without rows of groups, tasks named like collectives are the communication.
  void take_tasks_as_communication(KinetoParts& parts) const {
    for (const Task& task : tasks_) {
      const std::string_view name = name_of(parts.trace.name(task.slice));
      if (!is_collective_name(name)) continue;
      Tag tag = parts.trace.tag(task.slice);
      tag.kind = Kind::compute;
      parts.trace.set_tag(task.slice, tag, parts.trace.attribution(task.slice));
      parts.stated.push_back({task.slice, {.name = intern(purpose_of(name))}});
    }
  }

  // HCCL counts the elements of one rank for all-gathers and reduce-scatters; records have the whole buffer.
  void name_groups(KinetoParts& parts, KinetoHeader& header) const {
    header.groups = companions_.groups;
    for (KinetoStated& stated : parts.stated) {
      const KinetoLane& lane = parts.lane_of_track[parts.trace.track(stated.slice)];
      KinetoCollective& c = stated.collective;
      const std::string_view row = parts.thread_name(lane);
      if (!is_group_row(row)) continue;
      c.group_name = intern(group_in(row));
      const auto group = std::ranges::find(header.groups, group_in(row), &KinetoProcessGroup::name);
      if (group != header.groups.end()) {
        c.group_size = group->size;
        if (!group->description.empty()) c.group_description = intern(group->description);
      }
      const std::string_view purpose = name_of(c.name);
      if (purpose == "all_to_all" ||
          __builtin_mul_overflow(
              c.in_elements, purpose == "all_gather" || purpose == "reduce_scatter" ? c.group_size : 1, &c.in_elements))
        c.in_elements = 0;
    }
  }

  Companions companions_;
  std::vector<Task> tasks_;
  std::set<KinetoId> hardware_;                                // processes of devices
  std::set<KinetoId> communication_;                           // processes with rows of groups
  std::map<KinetoId, std::int32_t> devices_;                   // of both, by process
  std::set<std::pair<KinetoId, std::int64_t>> collectives_;    // their processes and connections
  std::set<std::pair<KinetoId, std::int32_t>> plane_streams_;  // with their processes
};

// [{"name": "aten::to", "pid": 10, "tid": 10, "ts": "1704161511414893.954", "dur": 2.3, "cat": "cpu_op", "ph": "X"}:
// the times are text. Processes have names of their own, which may come late.
bool is_ascend(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r\n";
  constexpr std::array<std::string_view, 5> kMarks{"\"ts\": \"", "\"ts\":\"", "\"Ascend Hardware\"",
                                                   "\"Overlap Analysis\"", "\"CANN\""};
  text.remove_prefix(std::min(text.find_first_not_of(kSpaces), text.size()));
  if (!text.starts_with('[') || text.find("\"ph\"") == std::string_view::npos) return false;
  return std::ranges::any_of(kMarks, [&](std::string_view mark) { return text.find(mark) != std::string_view::npos; });
}

Trace read_ascend(const std::filesystem::path& path, Reading& reading) {
  Dialect dialect(read_companions(path));
  return read_chrome_trace(path, reading, dialect);
}

}  // namespace
}  // namespace ascend

Format ascend_format() {
  return {.name = "ascend",
          .extension = ".json",
          .description = "Ascend NPUs: trace_view.json of torch_npu, msprof_TIME.json; may be compressed (.gz, .zst)",
          .sniff = ascend::is_ascend,
          .read = ascend::read_ascend,
          .write = nullptr};
}

}  // namespace underlap::formats
