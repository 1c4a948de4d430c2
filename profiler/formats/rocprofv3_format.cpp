// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <limits>
#include <map>
#include <new>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "platform/input/input_file.hpp"
#include "profiler/formats/format.hpp"
#include "profiler/formats/kineto/arguments.hpp"
#include "profiler/formats/kineto/decimal_time.hpp"
#include "profiler/formats/rocprof/json_parts.hpp"
#include "profiler/formats/rocprof/names.hpp"

namespace underlap::formats {
namespace rocprof {
namespace {

namespace ondemand = simdjson::ondemand;

// One record of a process: a kernel, a copy, a call or a roctx range. -1: not in the record.
struct Record {
  std::int64_t start_ns = -1;
  std::int64_t end_ns = -1;
  std::int64_t kind = -1;  // with `operation`, indices into the names of operations
  std::int64_t operation = -1;
  std::int64_t thread = -1;
  std::int64_t correlation = -1;
  std::int64_t kernel = -1;
  std::int64_t agent = -1;
  std::int64_t source_agent = -1;  // of a copy, as is the target
  std::int64_t target_agent = -1;
  std::int64_t queue = -1;
  std::int64_t stream = -1;
  LaunchShape shape;  // with the grid in blocks
};

// "dispatch_info", and in it "grid_size".
constexpr int kMostDepth = 3;

std::string_view text_of(ondemand::raw_json_string key) {
  const char* const text = key.raw();
  std::size_t length = 0;
  while (text[length] != '"') ++length;
  return {text, length};
}

std::uint32_t size_from(std::int64_t number) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(number, 0, std::numeric_limits<std::uint32_t>::max()));
}

// Where the number in `parent`.`key` belongs; nullptr where it is not needed.
std::int64_t* number_of(Record& record, std::string_view parent, std::string_view key) {
  if (parent.empty() || parent == "dispatch_info") {
    if (key == "start_timestamp") return &record.start_ns;
    if (key == "end_timestamp") return &record.end_ns;
    if (key == "kind") return &record.kind;
    if (key == "operation") return &record.operation;
    if (key == "thread_id") return &record.thread;
    if (key == "kernel_id") return &record.kernel;
    if (key == "bytes") return &record.shape.bytes;
  }
  if (parent == "correlation_id" && key == "internal") return &record.correlation;
  if (key != "handle") return nullptr;
  if (parent == "agent_id") return &record.agent;
  if (parent == "src_agent_id") return &record.source_agent;
  if (parent == "dst_agent_id") return &record.target_agent;
  if (parent == "queue_id") return &record.queue;
  return parent == "stream_id" ? &record.stream : nullptr;
}

void set_size(Record& record, std::string_view parent, char axis, std::int64_t number) {
  if (axis < 'x' || axis > 'z') return;
  const auto index = static_cast<std::size_t>(axis - 'x');
  if (parent == "grid_size") record.shape.grid[index] = size_from(number);
  if (parent == "workgroup_size") record.shape.block[index] = size_from(number);
}

// The writer counts work-items, as HSA does.
void count_blocks(LaunchShape& shape) {
  for (std::size_t i = 0; i < shape.grid.size(); ++i)
    if (shape.block[i] > 0) shape.grid[i] = shape.grid[i] / shape.block[i] + (shape.grid[i] % shape.block[i] > 0);
}

// Reads records, one at a time.
class RecordParser {
 public:
  // Replaces `into`. Returns why the record cannot be used; "" on success.
  std::string_view parse(std::string_view text, Record& into) {
    into = {};
    padded_.assign(text);
    padded_.append(simdjson::SIMDJSON_PADDING, ' ');
    try {
      auto document = parser_.iterate(simdjson::padded_string_view(padded_.data(), text.size(), padded_.size()));
      if (document.error() == simdjson::MEMALLOC) throw std::bad_alloc();
      take(document.get_object(), into, {}, 0);
    } catch (const simdjson::simdjson_error&) {
      return "record that is not a JSON object";
    }
    if (into.start_ns < 0 || into.end_ns < 0) return "record without a time";
    if (into.start_ns > kMostTimeNs || into.end_ns > kMostTimeNs) return "invalid or overflowing time";
    if (const std::string_view fault = duration_fault(into.end_ns - into.start_ns); !fault.empty()) return fault;
    into.shape.bytes = std::max<std::int64_t>(0, into.shape.bytes);
    count_blocks(into.shape);
    return {};
  }

 private:
  // {"size": 184, "kind": 11, "operation": 2, "thread_id": 908, "correlation_id": {"internal": 3, "external": 0},
  //  "start_timestamp": 63857000000000, "end_timestamp": 63857000350000, "dispatch_info": {"agent_id": {"handle":
  //  37946}, "queue_id": {"handle": 17}, "kernel_id": 1, "workgroup_size": {"x": 256, "y": 1, "z": 1}, "grid_size":
  //  {"x": 65536, "y": 1, "z": 1}}, "stream_id": {"handle": 7}}
  void take(ondemand::object object, Record& into, std::string_view parent, int depth) {
    for (ondemand::field field : object) {
      const std::string_view key = text_of(field.key());
      ondemand::value value = field.value();
      ondemand::object inner;
      if (depth < kMostDepth && value.get_object().get(inner) == simdjson::SUCCESS) {
        take(inner, into, key, depth + 1);
        continue;
      }
      const auto number = integer_of(token_text(value));
      if (!number) continue;
      if (key.size() == 1) set_size(into, parent, key.front(), *number);
      if (std::int64_t* const wanted = number_of(into, parent, key)) *wanted = *number;
    }
  }

  ondemand::parser parser_;
  std::string padded_;
};

// A process may create a stream for each kernel; more are shown by hardware queue.
constexpr std::size_t kMostStreams = 64;

constexpr std::int64_t kCopies = 1'000'000;  // the number of a track for copies without a stream

std::int32_t number_of_track(std::int64_t number) { return static_cast<std::int32_t>(number & 0x7FFFFFFF); }

// Reads one process of a file into a trace.
class Process {
 public:
  Process(Trace& trace, Reading& reading) : trace_(trace), reading_(reading) {}

  // Takes the text of the process. Its GPUs become ranks, numbered from `first_rank` in the order of the GPUs; threads
  // and ranges belong to the GPU for which they launch the most work. Returns the number of ranks: 0 without work on a
  // GPU; such a process adds nothing. Throws Cancelled.
  std::int32_t read(const JsonPart& process, std::int32_t first_rank) {
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

 private:
  /// Device (-1: of the host), kind, and name.
  using TrackKey = std::tuple<std::int32_t, TrackKind, std::string>;
  using Links = std::vector<std::pair<std::int64_t, std::uint32_t>>;  /// correlations and slices
  using Take = void (Process::*)(const Record&);

  void read_names(const std::vector<JsonPart>& members) {
    names_.read_agents(json_member(members, "agents").value);
    names_.read_strings(json_member(members, "strings").value);
    names_.read_kernels(json_member(members, "kernel_symbols").value);
    read_metadata(json_member(members, "metadata").value);
  }

  // {"node": {"hostname": "n0", ...}, "pid": 908, "command": ["python3", "train.py"], ...}
  void read_metadata(std::string_view object) {
    simdjson::dom::parser parser;
    simdjson::dom::element metadata;
    std::string_view host;
    if (parser.parse(object.data(), object.size()).get(metadata) != simdjson::SUCCESS) return;
    if (metadata["node"]["hostname"].get(host) == simdjson::SUCCESS) trace_.metadata["host_name"] = std::string(host);
  }

  void read_records(const std::vector<JsonPart>& arrays, std::string_view key, Take take) {
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

  void count_streams(const Record& record) { ++kernels_of_stream_[record.agent][record.stream]; }

  std::uint32_t track_of(std::int32_t device, std::int64_t number, TrackKind kind, const std::string& name) {
    const auto [found, is_new] =
        tracks_.try_emplace({device, kind, name}, static_cast<std::uint32_t>(trace_.tracks.size()));
    if (is_new)
      trace_.tracks.push_back({.stream = number_of_track(number), .name = name, .kind = kind, .device = device});
    return found->second;
  }

  // Streams are numbered per process. If streams were not tracked, all have the number 0, or none.
  std::uint32_t stream_of(std::int32_t device, const Record& record) {
    const auto streams = kernels_of_stream_.find(record.agent);
    const bool is_few = streams == kernels_of_stream_.end() || streams->second.size() <= kMostStreams;
    if (record.stream > 0 && is_few)
      return track_of(device, record.stream, TrackKind::stream, fmt::format("stream {}", record.stream));
    if (record.queue < 0) return track_of(device, kCopies, TrackKind::stream, "copies");
    return track_of(device, record.queue, TrackKind::stream, fmt::format("queue {}", record.queue));
  }

  std::uint32_t add_slice(std::uint32_t track, const Record& record, NameId name, Kind kind) {
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

  void add_kernel(const Record& record) {
    const Agent* const agent = names_.agent(record.agent);
    if (agent == nullptr) skip("unknown agent of a kernel (kept, as GPU 0)");
    const std::uint32_t track = stream_of(agent == nullptr ? 0 : std::max(0, agent->number), record);
    if (agent != nullptr && !agent->product.empty()) trace_.metadata["device_name"] = agent->product;
    work_.emplace_back(record.correlation, add_slice(track, record, names_.kernel(record.kernel), Kind::compute));
  }

  // MEMORY_COPY_HOST_TO_DEVICE is "CopyHostToDevice", as PyTorch's profiler writes it on ROCm.
  NameId copy_name(const Record& record) const {
    const Agent* const source = names_.agent(record.source_agent);
    const Agent* const target = names_.agent(record.target_agent);
    if (source == nullptr || target == nullptr) return names_.operation(record.kind, record.operation);
    if (source->is_gpu && target->is_gpu) return intern(source == target ? "CopyDeviceToDevice" : "CopyPeerToPeer");
    return intern(fmt::format("Copy{}To{}", source->is_gpu ? "Device" : "Host", target->is_gpu ? "Device" : "Host"));
  }

  // {"kind": 10, "operation": 2, "thread_id": 908, "correlation_id": {"internal": 2}, "start_timestamp":
  // 63857000000000,
  //  "end_timestamp": 63857000050000, "dst_agent_id": {"handle": 37946}, "src_agent_id": {"handle": 37944},
  //  "bytes": 1048576, "stream_id": {"handle": 24}}
  void add_copy(const Record& record) {
    const Agent* agent = names_.agent(record.source_agent);
    if (agent == nullptr || !agent->is_gpu) agent = names_.agent(record.target_agent);
    if (agent == nullptr || !agent->is_gpu) return skip("copy without a GPU");
    const std::uint32_t track = stream_of(std::max(0, agent->number), record);
    work_.emplace_back(record.correlation, add_slice(track, record, copy_name(record), Kind::copy));
  }

  void add_host_slice(const Record& record, NameId name, TrackKind kind) {
    const std::uint32_t track = track_of(-1, record.thread, kind, fmt::format("thread {}", record.thread));
    const std::uint32_t index = add_slice(track, record, name, Kind::none);
    if (kind == TrackKind::thread && record.correlation > 0) calls_.emplace_back(record.correlation, index);
  }

  void add_call(const Record& record) {
    add_host_slice(record, names_.operation(record.kind, record.operation), TrackKind::thread);
  }

  // A range: what it launches is communication.
  void add_collective_call(const Record& record) {
    add_host_slice(record, names_.operation(record.kind, record.operation), TrackKind::range);
  }

  void add_range(const Record& record) {
    if (const NameId name = names_.marker(record.correlation); name != kNoName)
      add_host_slice(record, name, TrackKind::range);
  }

  const std::uint32_t* call_of(std::int64_t correlation) const {
    const auto call = std::ranges::lower_bound(calls_, correlation, {}, &Links::value_type::first);
    return correlation <= 0 || call == calls_.end() || call->first != correlation ? nullptr : &call->second;
  }

  void join_launches() {
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

  std::int32_t place_ranks(std::int32_t first_rank) {
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

  void skip(std::string_view reason, std::int64_t count = 1) { trace_.import.skipped[std::string(reason)] += count; }

  Trace& trace_;
  Reading& reading_;
  Names names_;
  RecordParser parser_;
  std::map<TrackKey, std::uint32_t> tracks_;
  std::map<std::int64_t, std::map<std::int64_t, std::int64_t>> kernels_of_stream_;  /// by agent and stream
  Links calls_;
  Links work_;
};

// Reads the JSON of rocprofv3, of one process or several: kernels by stream (by hardware queue where streams were not
// tracked, or are more than 64 on a GPU), copies, calls of HIP, HSA and RCCL by thread, and roctx ranges. Each GPU of
// each process is a rank.
// {"rocprofiler-sdk-tool": [{"metadata": {...}, "agents": [...], "strings": {...}, "kernel_symbols": [...],
//                            "buffer_records": {"kernel_dispatch": [...], ...}}, ...]}
Trace read(const std::filesystem::path& path, Reading& reading) {
  ByteStream stream(path);
  const FileBytes file =
      read_bytes(stream, {.memory_factor = 2}, [&] { reading.at(stream.bytes_taken(), stream.file_length()); });
  std::string_view text = file.bytes;
  text.remove_prefix(std::min(text.find('{'), text.size()));
  const std::vector<JsonPart> members = json_members(text);
  const JsonPart processes = json_member(members, "rocprofiler-sdk-tool");
  Trace trace;
  std::int32_t num_ranks = 0;
  for_each_json_element(
      processes.value, [&](const JsonPart& process) { num_ranks += Process(trace, reading).read(process, num_ranks); });
  const std::size_t last = text.find_last_not_of(" \t\r\n");
  const bool is_closed = last != std::string_view::npos && text[last] == '}';
  if (!processes.is_whole || !is_closed) ++trace.import.skipped["the file is cut off"];
  if (!file.fault.empty()) ++trace.import.skipped[file.fault];
  if (num_ranks == 0)
    throw std::invalid_argument(path.string() +
                                ": rocprofv3 JSON without kernels or copies of a GPU; record with `rocprofv3 "
                                "--kernel-trace --memory-copy-trace --hip-trace --marker-trace --output-format json`");
  trace.metadata["format"] = "rocprofv3";
  trace.metadata["rank"] = "assumed";
  reading.show(trace);
  return trace;
}

bool is_rocprof(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r\n";
  const auto skip_spaces = [&] { text.remove_prefix(std::min(text.find_first_not_of(kSpaces), text.size())); };
  skip_spaces();
  if (!text.starts_with('{')) return false;
  text.remove_prefix(1);
  skip_spaces();
  return text.starts_with("\"rocprofiler-sdk-tool\"");
}

}  // namespace
}  // namespace rocprof

Format rocprofv3_format() {
  return {.name = "rocprofv3",
          .extension = ".json",
          .description = "AMD GPUs, written by `rocprofv3 --output-format json`; may be compressed (.gz, .zst)",
          .sniff = rocprof::is_rocprof,
          .read = rocprof::read,
          .write = nullptr};
}

}  // namespace underlap::formats
