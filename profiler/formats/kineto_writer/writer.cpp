// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/kineto_writer/writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <set>
#include <stdexcept>
#include <tuple>

#include "profiler/formats/json_object.hpp"
#include "profiler/formats/kineto/own_tags.hpp"
#include "profiler/formats/kineto_writer/event_names.hpp"
#include "profiler/formats/output_file.hpp"
#include "profiler/formats/writable.hpp"
#include "profiler/trace/saturating.hpp"

namespace underlap::formats {
namespace {

using kineto::FlowFrom;

constexpr std::size_t kPiece = std::size_t{1} << 20;  // bytes that are handed on at once
constexpr std::int64_t kLaunchNs = 1;                 // of a launch that is made up
constexpr std::string_view kStreamWait = "Stream Wait Event";
constexpr std::int64_t kFirstHostPid = 1'000'000;  // above the numbers of devices

std::int32_t world_size(const Trace& trace) {
  std::int32_t last = 0;
  for (const Track& track : trace.tracks) last = std::max(last, track.rank);
  for (const GroupRecord& group : trace.groups)
    for (const std::int32_t rank : group.ranks) last = std::max(last, rank);
  return last + 1;
}

std::string metadata_or(const Trace& trace, const std::string& key, std::string_view otherwise) {
  const auto found = trace.metadata.find(key);
  return found == trace.metadata.end() ? std::string(otherwise) : found->second;
}

// Where the times of the files of a trace begin, the same for all its ranks: many tools read times as double, which
// holds microseconds since 1970 and three decimals no more.
std::int64_t base_of(std::int64_t first_ns) {
  constexpr std::int64_t kStep = 1'000'000'000'000'000;  // 11 days
  return first_ns < 0 ? first_ns : first_ns / kStep * kStep;
}

std::int64_t device_of(const Track& track) { return track.device < 0 ? 0 : track.device; }

bool is_of_host(const Track& track) {
  return track.kind == TrackKind::thread || (track.kind == TrackKind::range && track.device < 0);
}

bool is_launched(const Trace& trace, std::size_t i) {
  return trace.track_of(i).kind == TrackKind::stream && trace.is_work(i);
}

// Writes one rank of a trace as PyTorch's profiler (Kineto) would: a file of its own.
//
// Other tools need data that a trace may lack. So work without a launch in the trace gets a made-up launch at the
// start of its step, and each window between two marks a range ProfilerStep#N.
class KinetoRank {
 public:
  KinetoRank(const Trace& trace, std::int32_t rank) : trace_(trace), rank_(rank) {
    find_slices();
    find_clock();
    find_flows();
    find_steps();
    make_up_launches();
  }

  // Hands the file's text to `take`, piece by piece.
  void write(const std::function<void(std::string_view)>& take) {
    const auto hand_on = [&](std::size_t least) {
      if (out_.size() < least) return;
      take(out_);
      out_.clear();
    };
    write_header();
    write_names();
    write_steps();
    for (const std::size_t slice : slices_) {
      write_slice(slice);
      hand_on(kPiece);
    }
    for (const Launch& launch : launches_) {
      write_launch(launch);
      hand_on(kPiece);
    }
    write_counters();
    out_ += "\n],\n  \"traceName\": \"underlap\"\n}\n";
    hand_on(0);
  }

 private:
  struct Step {
    std::int32_t number = 0;
    std::int64_t begin_ns = 0, end_ns = 0;
  };
  struct Place {
    std::int64_t pid = 0, tid = 0;
  };
  // A launch that is made up, or where the trace has one, its correlation.
  struct Launch {
    std::uint32_t slice = 0;
    std::int64_t time_ns = 0;
    std::uint64_t correlation = 0;
  };

  void find_slices() {
    std::uint32_t own = 0;
    for (const Track& track : trace_.tracks) own_tracks_.push_back(track.rank == rank_ ? own++ : 0);
    for (std::size_t i = 0; i < trace_.size(); ++i)
      if (trace_.track_of(i).rank == rank_) slices_.push_back(i);
  }

  void find_clock() {
    std::int64_t first = trace_.first_ns(), last = first;
    const auto see = [&](std::int64_t begin_ns, std::int64_t end_ns) {
      first = std::min(first, begin_ns);
      last = std::max(last, end_ns);
    };
    for (const std::size_t i : slices_) see(trace_.start_ns()[i], trace_.end_ns(i));
    for (const Mark& mark : trace_.marks)
      if (mark.rank == rank_) see(mark.time_ns, mark.time_ns);
    for (const CounterSample& sample : trace_.counters)
      if (trace_.tracks[sample.track].rank == rank_) see(sample.time_ns, sample.time_ns);
    if (!is_time(first) || !is_time(last))
      throw std::invalid_argument(
          fmt::format("rank {}: times from {} ns to {} ns are too far apart for a file", rank_, first, last));
    floor_ns_ = base_of(trace_.first_ns());
    for (const ClockSnapshot& clock : trace_.clocks) {
      if (clock.rank != rank_ || !is_time(clock.device_ns) || !is_time(clock.unix_ns)) continue;
      const std::int64_t offset = clock.unix_ns - clock.device_ns;
      if (is_time(offset) && is_time(offset + first) && is_time(offset + last)) unix_offset_ns_ = offset;
      return;
    }
  }

  // A flow from or to another rank has no place in a file of one.
  void find_flows() {
    if (trace_.flows.empty()) return;
    std::vector<std::uint32_t> own(trace_.size());
    for (std::size_t i = 0; i < slices_.size(); ++i) own[slices_[i]] = static_cast<std::uint32_t>(i);
    for (const Flow& flow : trace_.flows) {
      if (trace_.track_of(flow.from).rank != rank_ || trace_.track_of(flow.to).rank != rank_) continue;
      flows_[flow.to].emplace_back(flow.kind, own[flow.from]);
      if (flow.kind == FlowKind::launch) correlations_[flow.from] = correlations_[flow.to] = own[flow.from] + 1;
    }
  }

  void find_steps() {
    std::vector<Mark> marks;
    std::ranges::copy_if(trace_.marks, std::back_inserter(marks), [&](const Mark& mark) { return mark.rank == rank_; });
    std::ranges::stable_sort(marks, {}, &Mark::time_ns);
    for (std::size_t i = 1; i < marks.size(); ++i)
      if (marks[i].block == marks[i - 1].block)
        steps_.push_back({marks[i].step, marks[i - 1].time_ns, marks[i].time_ns});
  }

  // The host enqueues work early, so launches are placed at the start of their step, in the order of the work.
  void make_up_launches() {
    for (const std::size_t i : slices_)
      if (is_launched(trace_, i) && !correlations_.contains(i))
        launches_.push_back({.slice = static_cast<std::uint32_t>(i), .time_ns = trace_.start_ns()[i]});
    const auto order = [](const Launch& launch) { return std::tuple(launch.time_ns, launch.slice); };
    std::ranges::sort(launches_, {}, order);
    std::size_t step = 0;
    std::int64_t next_ns = launches_.empty() ? 0 : launches_.front().time_ns;
    for (std::size_t i = 0; i < launches_.size(); ++i) {
      Launch& launch = launches_[i];
      for (; step < steps_.size() && steps_[step].begin_ns <= launch.time_ns; ++step) next_ns = steps_[step].begin_ns;
      launch.time_ns = std::min(next_ns, launch.time_ns);
      next_ns += kLaunchNs;
      launch.correlation = slices_.size() + 1 + i;
      correlations_[launch.slice] = launch.correlation;
    }
  }

  std::int64_t host_pid() const { return kFirstHostPid + rank_; }
  Place host() const { return {host_pid(), host_pid()}; }

  std::string& begin_event() {
    out_ += any_event_ ? ",\n" : "\n";
    any_event_ = true;
    return out_;
  }

  void write_device() {
    std::set<std::int64_t> devices;
    for (const Track& track : trace_.tracks)
      if (track.rank == rank_ && track.kind == TrackKind::stream) devices.insert(device_of(track));
    const std::string name = metadata_or(trace_, "device_name", metadata_or(trace_, "backend", "unknown"));
    append_json_array(out_, devices, [&](std::string& to, std::int64_t device) {
      JsonObject object(to);
      object.add("id", device);
      object.add("name", name);
    });
  }

  void write_job() {
    JsonObject job(out_);
    job.add("backend", "nccl");
    job.add("rank", rank_);
    job.add("world_size", world_size(trace_));
    job.add("pg_count", trace_.groups.size());
    append_process_groups(job.member("pg_config"), trace_, rank_);
    if (const std::string version = metadata_or(trace_, "nccl_version", ""); !version.empty())
      job.add("nccl_version", version);
  }

  void write_header() {
    const auto member = [&](std::string_view key) { out_ += fmt::format(",\n  \"{}\": ", key); };
    out_ += "{\n  \"schemaVersion\": 1";
    member("deviceProperties");
    write_device();
    member("distributedInfo");
    write_job();
    out_ +=
        fmt::format(",\n  \"displayTimeUnit\": \"ms\",\n  \"baseTimeNanoseconds\": {}", unix_offset_ns_ + floor_ns_);
    member(kineto::kOwnKey);
    kineto::append_own_header(out_, trace_, rank_, unix_offset_ns_);
    member("traceEvents");
    out_ += '[';
  }

  void write_name(std::string_view what, Place place, std::string_view value) {
    JsonObject event(begin_event());
    event.add("ph", "M");
    event.add("name", what);
    add_place(event, place);
    event.add("ts", 0);
    JsonObject args(event.member("args"));
    args.add(what == "process_labels" ? "labels" : "name", value);
  }

  void write_names() {
    write_name("process_name", {host_pid(), 0}, fmt::format("rank {}", rank_));
    write_name("process_labels", {host_pid(), 0}, "CPU");
    write_name("thread_name", host(), "steps and launches");
    std::set<std::int64_t> devices;
    for (const Track& track : trace_.tracks) {
      if (track.rank != rank_ || track.kind == TrackKind::counter) continue;
      const Place place = place_of(track);
      if (!is_of_host(track) && devices.insert(place.pid).second) {
        write_name("process_name", {place.pid, 0}, fmt::format("rank {}", rank_));
        write_name("process_labels", {place.pid, 0}, fmt::format("GPU {}", place.pid));
      }
      if (track.kind != TrackKind::range)
        write_name("thread_name", place,
                   is_of_host(track) ? track.name : fmt::format("stream {} {}", track.stream, track.name));
    }
  }

  Place place_of(const Track& track) const { return {is_of_host(track) ? host_pid() : device_of(track), track.stream}; }

  static void add_place(JsonObject& event, Place place) {
    event.add("pid", place.pid);
    event.add("tid", place.tid);
  }

  // A span of time, still without its times and arguments.
  static void begin_span(JsonObject& event, std::string_view category, std::string_view name, Place place) {
    event.add("ph", "X");
    event.add("cat", category);
    event.add("name", name);
    add_place(event, place);
  }

  void add_times(JsonObject& event, std::int64_t start_ns, std::int64_t duration_ns) const {
    event.add_microseconds("ts", start_ns - floor_ns_);
    event.add_microseconds("dur", duration_ns);
  }

  void write_steps() {
    for (const Step& step : steps_) {
      JsonObject event(begin_event());
      begin_span(event, "user_annotation", fmt::format("ProfilerStep#{}", step.number), host());
      add_times(event, step.begin_ns, step.end_ns - step.begin_ns);
      JsonObject args(event.member("args"));
    }
  }

  void write_slice(std::size_t i) {
    const Track& track = trace_.track_of(i);
    const std::string name = kineto_name(trace_, i);
    const auto flows = flows_.find(i);
    const auto correlation = correlations_.find(i);
    kineto::OwnPlace place{.track = own_tracks_[trace_.track(i)], .shown_name = name, .flows = {}};
    if (flows != flows_.end()) place.flows = flows->second;
    {
      JsonObject event(begin_event());
      begin_span(event, kineto_category(trace_, i), name, place_of(track));
      add_times(event, trace_.start_ns()[i], trace_.duration_ns()[i]);
      JsonObject args(event.member("args"));
      if (correlation != correlations_.end()) {
        args.add("External id", correlation->second);
        args.add("correlation", correlation->second);
      }
      if (track.kind == TrackKind::stream) {
        args.add("device", device_of(track));
        args.add("context", 1);
        args.add("stream", track.stream);
      }
      const LaunchShape& shape = trace_.shape(i);
      if (shape.grid[0] != 0) {
        append_json_array(args.member("grid"), shape.grid);
        append_json_array(args.member("block"), shape.block);
      }
      if (shape.bytes != 0) args.add("bytes", shape.bytes);
      if (const CommunicationRecord* record = trace_.communication(i)) add_collective(args, trace_, *record, rank_);
      if (!trace_.is_work(i) && track.kind == TrackKind::stream)
        if (const auto flow = std::ranges::find(place.flows, FlowKind::dependency, &FlowFrom::first);
            flow != place.flows.end())
          add_wait(args, i, slices_[flow->second]);
      kineto::append_own_slice(args.member(kineto::kOwnKey), trace_, i, place);
    }
    for (const FlowFrom& flow : place.flows) {
      const bool is_wait = flow.first == FlowKind::dependency && trace_.is_work(i) && track.kind == TrackKind::stream;
      if (is_wait)
        write_wait(i, slices_[flow.second]);
      else if (flow.first != FlowKind::resource && flow.first != FlowKind::host)
        write_flow(i, flow);
    }
  }

  // The fields that CUPTI records for a wait. The launch of the work before the event replaces the call that recorded
  // it.
  void add_wait(JsonObject& args, std::size_t to, std::size_t from) const {
    const auto correlation_of = [&](std::size_t slice) {
      const auto found = correlations_.find(slice);
      return found == correlations_.end() ? std::int64_t{-1} : static_cast<std::int64_t>(found->second);
    };
    args.add("cuda_sync_kind", kStreamWait);
    args.add("wait_on_stream", trace_.track_of(from).stream);
    args.add("wait_on_cuda_event_record_corr_id", correlation_of(from));
    args.add("wait_on_cuda_event_id", from);
    if (trace_.is_work(to)) args.add("correlation", correlation_of(to));
  }

  // A wait that the trace knows by its dependency alone: of no duration, before what waited. It replaces the arrow.
  void write_wait(std::size_t to, std::size_t from) {
    const Track& track = trace_.track_of(to);
    JsonObject event(begin_event());
    begin_span(event, "cuda_sync", kStreamWait, place_of(track));
    add_times(event, trace_.start_ns()[to], 0);
    JsonObject args(event.member("args"));
    args.add("device", device_of(track));
    args.add("context", 1);
    args.add("stream", track.stream);
    add_wait(args, to, from);
  }

  // An arrow to the start of the slice: from the end of its source, or from the start of a launch.
  void write_flow(std::size_t to, const FlowFrom& flow) {
    const std::size_t from = slices_[flow.second];
    const bool is_launch = flow.first == FlowKind::launch;
    const std::string_view category = is_launch ? "ac2g" : to_string(flow.first);
    const auto end = [&](std::string_view phase, std::size_t slice, std::int64_t time_ns) {
      JsonObject event(begin_event());
      event.add("ph", phase);
      event.add("cat", category);
      event.add("name", category);
      event.add("id", std::uint64_t{flow.second} + 1);
      add_place(event, place_of(trace_.track_of(slice)));
      event.add_microseconds("ts", time_ns - floor_ns_);
      if (phase == "f") event.add("bp", "e");
    };
    end("s", from, is_launch ? trace_.start_ns()[from] : trace_.end_ns(from));
    end("f", to, trace_.start_ns()[to]);
  }

  void write_launch(const Launch& launch) {
    const auto add_event = [&](std::string_view category, std::string_view name, const CommunicationRecord* record) {
      JsonObject event(begin_event());
      begin_span(event, category, name, host());
      add_times(event, launch.time_ns, kLaunchNs);
      JsonObject args(event.member("args"));
      args.add("External id", launch.correlation);
      if (record != nullptr)
        add_collective(args, trace_, *record, rank_);
      else
        args.add("correlation", launch.correlation);
    };
    if (const CommunicationRecord* record = trace_.communication(launch.slice))
      add_event("cpu_op", "record_param_comms", record);
    const bool is_copy = trace_.tag(launch.slice).kind == Kind::copy;
    add_event("cuda_runtime", is_copy ? "cudaMemcpyAsync" : "cudaLaunchKernel", nullptr);
  }

  void write_counters() {
    for (const CounterSample& sample : trace_.counters) {
      const Track& track = trace_.tracks[sample.track];
      if (track.rank != rank_) continue;
      JsonObject event(begin_event());
      event.add("ph", "C");
      event.add("name", track.name);
      event.add("pid", track.device < 0 ? host_pid() : std::int64_t{track.device});
      event.add("tid", own_tracks_[sample.track]);
      event.add_microseconds("ts", sample.time_ns - floor_ns_);
      JsonObject args(event.member("args"));
      const std::string value = fmt::format("{}", sample.value);
      if (std::isfinite(sample.value))
        args.member("value") += value;
      else
        args.add("value", value);
    }
  }

  const Trace& trace_;
  std::int32_t rank_;
  std::string out_;
  bool any_event_ = false;
  std::int64_t floor_ns_ = 0;  // of the trace's clock, where the file's times begin
  std::int64_t unix_offset_ns_ = 0;
  std::vector<std::size_t> slices_;                                       // of this rank, in the order of the file
  std::vector<std::uint32_t> own_tracks_;                                 // by track: its place in the file's header
  std::unordered_map<std::size_t, std::vector<kineto::FlowFrom>> flows_;  // by slice of the trace
  std::unordered_map<std::size_t, std::uint64_t> correlations_;
  std::vector<Step> steps_;
  std::vector<Launch> launches_;  // by time
};

// A trace without any rank is a file all the same, of a rank 0 that did nothing.
std::set<std::int32_t> ranks_of(const Trace& trace) {
  std::set<std::int32_t> ranks;
  for (const Track& track : trace.tracks) ranks.insert(track.rank);
  for (const Mark& mark : trace.marks) ranks.insert(mark.rank);
  for (const ClockSnapshot& clock : trace.clocks) ranks.insert(clock.rank);
  if (ranks.empty()) ranks.insert(0);
  return ranks;
}

// Inserts the rank after NAME, before ".json.gz" or ".json".
std::filesystem::path file_of_rank(const std::filesystem::path& path, std::int32_t rank) {
  std::filesystem::path name = path.filename();
  std::string extensions;
  for (const std::string_view extension : {".gz", ".zst", ".json"})
    if (name.extension() == extension) {
      extensions.insert(0, extension);
      name = name.stem();
    }
  return path.parent_path() / fmt::format("{}.rank{}{}", name.string(), rank, extensions);
}

}  // namespace

std::vector<std::filesystem::path> kineto_files(const std::filesystem::path& path, const Trace& trace) {
  const std::set<std::int32_t> ranks = ranks_of(trace);
  if (ranks.size() == 1) return {path};
  std::vector<std::filesystem::path> files;
  for (const std::int32_t rank : ranks) files.push_back(file_of_rank(path, rank));
  return files;
}

void write_kineto(const std::filesystem::path& path, const Trace& trace) {
  check_writable(trace);
  const std::vector<std::filesystem::path> files = kineto_files(path, trace);
  auto file = files.begin();
  for (const std::int32_t rank : ranks_of(trace)) {
    OutputFile out(*file++);
    KinetoRank(trace, rank).write([&](std::string_view piece) { out.write(piece); });
    out.close();
  }
}

}  // namespace underlap::formats
