// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/rocprof/process.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <utility>

namespace underlap::formats::rocprof {
namespace {

constexpr Attribution kNotAttributed{AttributionSource::none, 0, kNoName};

// A process may create a stream for each kernel; more are shown by hardware queue.
constexpr std::size_t kMostStreams = 64;

constexpr std::int64_t kCopies = 1'000'000;  ///< the number of a track for copies without a stream

std::int32_t number_of_track(std::int64_t number) { return static_cast<std::int32_t>(number & 0x7FFFFFFF); }

}  // namespace

std::int32_t Process::read(const JsonPart& process, std::int32_t first_rank) {
  const std::vector<JsonPart> members = json_members(process.value);
  if (!process.is_whole) skip("process that is cut off");
  read_names(members);
  const std::vector<JsonPart> arrays = json_members(json_member(members, "buffer_records").value);
  if (!arrays.empty() && !arrays.back().is_whole) skip("list of records that is cut off");
  read_records(arrays, "kernel_dispatch", &Process::count_streams);
  read_records(arrays, "kernel_dispatch", &Process::add_kernel);
  read_records(arrays, "memory_copy", &Process::add_copy);
  if (work_.empty()) return 0;
  read_records(arrays, "hip_api", &Process::add_call);
  read_records(arrays, "hsa_api", &Process::add_call);
  read_records(arrays, "rccl_api", &Process::add_collective_call);
  read_records(arrays, "marker_api", &Process::add_range);
  join_launches();
  return place_ranks(first_rank);
}

void Process::read_names(const std::vector<JsonPart>& members) {
  names_.read_agents(json_member(members, "agents").value);
  names_.read_strings(json_member(members, "strings").value);
  names_.read_kernels(json_member(members, "kernel_symbols").value);
  read_metadata(json_member(members, "metadata").value);
}

// {"node": {"hostname": "n0", ...}, "pid": 908, "command": ["python3", "train.py"], ...}
void Process::read_metadata(std::string_view object) {
  simdjson::dom::parser parser;
  simdjson::dom::element metadata;
  std::string_view host;
  if (parser.parse(object.data(), object.size()).get(metadata) != simdjson::SUCCESS) return;
  if (metadata["node"]["hostname"].get(host) == simdjson::SUCCESS) trace_.metadata["host_name"] = std::string(host);
}

void Process::read_records(const std::vector<JsonPart>& arrays, std::string_view key, Take take) {
  constexpr std::int64_t kPolled = 4096;
  const bool counts = take != &Process::count_streams;
  Record record;
  std::int64_t number = 0;
  const std::size_t others = for_each_json_element(json_member(arrays, key).value, [&](const JsonPart& part) {
    if (number++ % kPolled == 0) {
      reading_.check();
      reading_.show(trace_);
    }
    const std::string_view fault = parser_.parse(part.value, record);
    if (counts) ++trace_.import.events;
    if (fault.empty())
      (this->*take)(record);
    else if (counts)
      skip(fault);
  });
  if (!counts || others == 0) return;
  trace_.import.events += static_cast<std::int64_t>(others);
  skip("record that is not a JSON object", static_cast<std::int64_t>(others));
}

void Process::count_streams(const Record& record) { ++kernels_of_stream_[record.agent][record.stream]; }

std::uint32_t Process::track_of(std::int32_t device, std::int64_t number, TrackKind kind, const std::string& name) {
  const auto [found, is_new] =
      tracks_.try_emplace({device, kind, name}, static_cast<std::uint32_t>(trace_.tracks.size()));
  if (is_new)
    trace_.tracks.push_back({.stream = number_of_track(number), .name = name, .kind = kind, .device = device});
  return found->second;
}

// Streams are numbered per process. If streams were not tracked, all have the number 0, or none.
std::uint32_t Process::stream_of(std::int32_t device, const Record& record) {
  const auto streams = kernels_of_stream_.find(record.agent);
  const bool is_few = streams == kernels_of_stream_.end() || streams->second.size() <= kMostStreams;
  if (record.stream > 0 && is_few)
    return track_of(device, record.stream, TrackKind::stream, fmt::format("stream {}", record.stream));
  if (record.queue < 0) return track_of(device, kCopies, TrackKind::stream, "copies");
  return track_of(device, record.queue, TrackKind::stream, fmt::format("queue {}", record.queue));
}

std::uint32_t Process::add_slice(std::uint32_t track, const Record& record, NameId name, Kind kind) {
  const auto index = static_cast<std::uint32_t>(trace_.size());
  Slice slice{.track = track,
              .start_ns = record.start_ns,
              .duration_ns = record.end_ns - record.start_ns,
              .name = name,
              .tag = {.kind = kind},
              .attribution = kNotAttributed};
  if (kind != Kind::none) slice.shape = record.shape;
  trace_.add(slice);
  return index;
}

void Process::add_kernel(const Record& record) {
  const Agent* const agent = names_.agent(record.agent);
  if (agent == nullptr) skip("unknown agent of a kernel (kept, as GPU 0)");
  const std::uint32_t track = stream_of(agent == nullptr ? 0 : std::max(0, agent->number), record);
  if (agent != nullptr && !agent->product.empty()) trace_.metadata["device_name"] = agent->product;
  work_.emplace_back(record.correlation, add_slice(track, record, names_.kernel(record.kernel), Kind::compute));
}

// MEMORY_COPY_HOST_TO_DEVICE is "CopyHostToDevice", as PyTorch's profiler writes it on ROCm.
NameId Process::copy_name(const Record& record) const {
  const Agent* const source = names_.agent(record.source_agent);
  const Agent* const target = names_.agent(record.target_agent);
  if (source == nullptr || target == nullptr) return names_.operation(record.kind, record.operation);
  if (source->is_gpu && target->is_gpu) return intern(source == target ? "CopyDeviceToDevice" : "CopyPeerToPeer");
  return intern(fmt::format("Copy{}To{}", source->is_gpu ? "Device" : "Host", target->is_gpu ? "Device" : "Host"));
}

// {"kind": 10, "operation": 2, "thread_id": 908, "correlation_id": {"internal": 2}, "start_timestamp": 63857000000000,
//  "end_timestamp": 63857000050000, "dst_agent_id": {"handle": 37946}, "src_agent_id": {"handle": 37944},
//  "bytes": 1048576, "stream_id": {"handle": 24}}
void Process::add_copy(const Record& record) {
  const Agent* agent = names_.agent(record.source_agent);
  if (agent == nullptr || !agent->is_gpu) agent = names_.agent(record.target_agent);
  if (agent == nullptr || !agent->is_gpu) return skip("copy without a GPU");
  const std::uint32_t track = stream_of(std::max(0, agent->number), record);
  work_.emplace_back(record.correlation, add_slice(track, record, copy_name(record), Kind::copy));
}

void Process::add_host_slice(const Record& record, NameId name, TrackKind kind) {
  const std::uint32_t track = track_of(-1, record.thread, kind, fmt::format("thread {}", record.thread));
  const std::uint32_t index = add_slice(track, record, name, Kind::none);
  if (kind == TrackKind::thread && record.correlation > 0) calls_.emplace_back(record.correlation, index);
}

void Process::add_call(const Record& record) {
  add_host_slice(record, names_.operation(record.kind, record.operation), TrackKind::thread);
}

// A range: what it launches is communication.
void Process::add_collective_call(const Record& record) {
  add_host_slice(record, names_.operation(record.kind, record.operation), TrackKind::range);
}

void Process::add_range(const Record& record) {
  if (const NameId name = names_.marker(record.correlation); name != kNoName)
    add_host_slice(record, name, TrackKind::range);
}

const std::uint32_t* Process::call_of(std::int64_t correlation) const {
  const auto call = std::ranges::lower_bound(calls_, correlation, {}, &Links::value_type::first);
  return correlation <= 0 || call == calls_.end() || call->first != correlation ? nullptr : &call->second;
}

void Process::join_launches() {
  std::ranges::sort(calls_);
  std::int64_t early = 0;
  for (const auto& [correlation, work] : work_) {
    const std::uint32_t* const call = call_of(correlation);
    if (call == nullptr) continue;
    trace_.flows.push_back({*call, work, FlowKind::launch});
    early += trace_.start_ns()[work] < trace_.start_ns()[*call] ? 1 : 0;
  }
  if (early > 0) trace_.metadata["work_before_its_launch"] = std::to_string(early);
}

std::int32_t Process::place_ranks(std::int32_t first_rank) {
  std::map<std::int32_t, std::int32_t> rank_of_device;
  for (const auto& [key, track] : tracks_)
    if (trace_.tracks[track].device >= 0) rank_of_device[trace_.tracks[track].device] = 0;
  std::int32_t next = first_rank;
  for (auto& [device, rank] : rank_of_device) rank = next++;
  std::map<std::int32_t, std::map<std::int32_t, std::int64_t>> launches;  // by thread and device
  for (const auto& [correlation, work] : work_) {
    if (const std::uint32_t* const call = call_of(correlation))
      ++launches[trace_.track_of(*call).stream][trace_.track_of(work).device];
  }
  for (const auto& [key, index] : tracks_) {
    Track& track = trace_.tracks[index];
    std::int32_t device = track.device;
    if (device < 0) {
      const auto& of_thread = launches[track.stream];
      const auto most = std::ranges::max_element(of_thread, {}, [](const auto& one) { return one.second; });
      device = most == of_thread.end() ? rank_of_device.begin()->first : most->first;
    }
    track.rank = rank_of_device.at(device);
  }
  return next - first_rank;
}

}  // namespace underlap::formats::rocprof
