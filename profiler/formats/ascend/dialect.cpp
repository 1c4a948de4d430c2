// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/ascend/dialect.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <map>
#include <optional>
#include <utility>

namespace underlap::formats::ascend {
namespace {

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

std::string_view thread_name(const KinetoParts& parts, const KinetoLane& lane) {
  const auto found = parts.thread_names.find({lane.pid, lane.tid});
  return found == parts.thread_names.end() ? std::string_view() : name_of(found->second);
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

}  // namespace

// {"name": "aclnnMatmul_MatMulV2_MatMulV2", "pid": 800, "tid": 7, "ts": "1790000000000000.000", "dur": 350.0,
//  "args": {"Task Type": "AI_CORE", "Stream Id": 7, "Task Id": 7, "connection_id": 2}, "ph": "X"}
void Dialect::interpret_task(KinetoSlice& slice, const KinetoForeign& foreign, const KinetoParts& parts) {
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
void Dialect::interpret_collective(KinetoSlice& slice, const KinetoForeign& foreign) {
  slice.row.category = KinetoCategory::kernel;
  slice.row.id = foreign.correlation;
  slice.work.device = 0;
  slice.collective = KinetoCollective{.name = intern(purpose_of(name_of(slice.row.name))),
                                      .dtype = intern(element_of(name_of(foreign.dtype))),
                                      .in_elements = foreign.elements};
  if (foreign.correlation > 0) collectives_.emplace(slice.lane.pid, foreign.correlation);
}

void Dialect::interpret(KinetoSlice& slice, const KinetoForeign& foreign, const KinetoParts& parts) {
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

// Rows of a group without "hcom_", such as those of LCCL, are communication, too.
void Dialect::promote_groups(KinetoParts& parts) {
  Trace& trace = parts.trace;
  std::vector<bool> is_promoted(trace.tracks.size());
  for (std::size_t i = 0; i < trace.tracks.size(); ++i) {
    KinetoLane& lane = parts.lane_of_track[i];
    if (!is_group_row(thread_name(parts, lane))) continue;
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
void Dialect::number_devices() {
  devices_ = numbered(hardware_, hardware_.size());
  devices_.merge(numbered(communication_, hardware_.size()));
}

std::int32_t Dialect::device_of(const KinetoId& process) const {
  const auto found = devices_.find(process);
  return found == devices_.end() ? 0 : found->second;
}

// The rows of groups become streams of their device, after its own.
void Dialect::place_tracks(KinetoParts& parts, KinetoHeader& header) const {
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

// Tasks on a plane's stream, or enqueued by a collective's call, repeat the transfer in the row of the group.
// A kernel on a matrix unit may both compute and communicate, and stays. Devices number streams and calls on their own.
void Dialect::leave_out_repeated_tasks(KinetoParts& parts) const {
  std::set<std::pair<std::int32_t, std::int32_t>> streams;
  for (const auto& [process, stream] : plane_streams_) streams.emplace(device_of(process), stream);
  std::set<std::pair<std::int32_t, std::int64_t>> connections;
  for (const auto& [process, connection] : collectives_) connections.emplace(device_of(process), connection);
  for (const Task& task : tasks_) {
    const std::int32_t device = device_of(task.process);
    const bool is_repeated =
        streams.contains({device, task.stream}) || (connections.contains({device, task.connection}) && !task.computes);
    if (!is_repeated || !parts.trace.is_work(task.slice)) continue;
    Tag tag = parts.trace.tag(task.slice);
    tag.kind = Kind::none;
    parts.trace.set_tag(task.slice, tag, parts.trace.attribution(task.slice));
  }
}

// Without rows of groups, tasks named like collectives are the communication.
void Dialect::take_tasks_as_communication(KinetoParts& parts) const {
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
void Dialect::name_groups(KinetoParts& parts, KinetoHeader& header) const {
  header.groups = companions_.groups;
  for (KinetoStated& stated : parts.stated) {
    const KinetoLane& lane = parts.lane_of_track[parts.trace.track(stated.slice)];
    const auto thread = parts.thread_names.find({lane.pid, lane.tid});
    KinetoCollective& c = stated.collective;
    const std::string_view row = thread == parts.thread_names.end() ? std::string_view() : name_of(thread->second);
    if (!is_group_row(row)) continue;
    c.group_name = intern(group_in(row));
    const auto group = std::ranges::find(header.groups, group_in(row), &KinetoProcessGroup::name);
    if (group != header.groups.end()) {
      c.group_size = group->size;
      if (!group->description.empty()) c.group_description = intern(group->description);
    }
    const std::string_view purpose = name_of(c.name);
    if (purpose == "all_to_all" ||
        __builtin_mul_overflow(c.in_elements, purpose == "all_gather" || purpose == "reduce_scatter" ? c.group_size : 1,
                               &c.in_elements))
      c.in_elements = 0;
  }
}

void Dialect::finish(KinetoParts& parts, KinetoHeader& header) {
  header.rank = companions_.rank;
  promote_groups(parts);
  if (communication_.empty() && parts.stated.empty()) take_tasks_as_communication(parts);
  number_devices();
  leave_out_repeated_tasks(parts);
  name_groups(parts, header);
  place_tracks(parts, header);
}

std::string Dialect::refusal(const Trace& trace) const {
  for (std::size_t i = 0; i < trace.size(); ++i)
    if (trace.is_work(i)) return {};
  return "an Ascend trace without tasks of an NPU; record with torch_npu.profiler.profile(activities=[CPU, NPU]), and "
         "give ASCEND_PROFILER_OUTPUT/trace_view.json";
}

}  // namespace underlap::formats::ascend
