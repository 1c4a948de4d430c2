// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/pftrace/rows.hpp"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "profiler/formats/kineto/arguments.hpp"
#include "profiler/formats/pftrace/arguments.hpp"
#include "profiler/formats/pftrace/tracks.hpp"

namespace underlap::formats::pftrace {
namespace {

using Category = KinetoCategory;

// Categories of PyTorch and of rocprofv3. `profiler`: not part of a trace.
constexpr std::array<std::pair<std::string_view, KinetoCategory>, 24> kCategories{
    {{"kernel", Category::kernel},
     {"kernel_dispatch", Category::kernel},
     {"gpu_memcpy", Category::copy},
     {"gpu_memset", Category::copy},
     {"memory_copy", Category::copy},
     {"memcpy", Category::copy},
     {"memset", Category::copy},
     {"cuda_sync", Category::sync},
     {"gpu_user_annotation", Category::gpu_annotation},
     {"cuda_runtime", Category::call},
     {"cuda_driver", Category::call},
     {"hip_runtime", Category::call},
     {"hip_api", Category::call},
     {"hsa_api", Category::call},
     {"xpu_runtime", Category::call},
     {"user_annotation", Category::annotation},
     {"marker_api", Category::annotation},
     {"cpu_op", Category::host},
     {"python_function", Category::host},
     {"rccl_api", Category::host},
     {"overhead", Category::profiler},
     {"scratch_memory", Category::profiler},
     {"memory_allocation", Category::profiler},
     {"counter_collection", Category::profiler}}};

std::optional<KinetoCategory> category_named(std::string_view name) {
  const auto found = std::ranges::find(kCategories, name, &std::pair<std::string_view, KinetoCategory>::first);
  return found == kCategories.end() ? std::nullopt : std::optional(found->second);
}

bool starts_with_any(std::string_view name, std::span<const std::string_view> starts) {
  return std::ranges::any_of(starts, [&](std::string_view start) { return name.starts_with(start); });
}

bool is_copy_name(std::string_view name) {
  constexpr std::array<std::string_view, 6> kStarts{"Memcpy", "Memset", "MEMORY_COPY", "[CUDA mem", "Copy", "memcpy"};
  return starts_with_any(name, kStarts);
}

bool is_wait_name(std::string_view name) {
  constexpr std::array<std::string_view, 5> kNames{"Stream Wait Event", "Stream Sync", "Event Sync", "Context Sync",
                                                   "Device Sync"};
  return starts_with_any(name, kNames);
}

bool is_api_name(std::string_view name) {
  constexpr std::array<std::string_view, 3> kStarts{"cuda", "hip", "cu"};
  return name.find("::") == std::string_view::npos && starts_with_any(name, kStarts);
}

// Operators of PyTorch, and nodes of its backward pass, as opposed to the names that people give to ranges.
bool is_operator_name(std::string_view name) {
  return name.find("::") != std::string_view::npos || name.find("Backward") != std::string_view::npos ||
         name == kRecordParamComms;
}

// The names of stages in PyTorch and in Perfetto's documents. nullopt: not work of a trace.
std::optional<KinetoCategory> category_of_stage(const RenderStage& stage) {
  const std::string_view name = name_of(stage.stage);
  if (name == "Memcpy" || name == "Memset") return Category::copy;
  if (name == "Annotation") return Category::gpu_annotation;
  if (name == "Kernel" || stage.is_kernel) return Category::kernel;
  return std::nullopt;
}

// A start event with its end event.
struct PairedSlice {
  std::uint32_t event = 0;  // the start event, as index into Events::events
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;
  bool has_child = false;  // another slice of its track lies in it
};

// Pairs the start and end events of each track, which name only their track. Counts events without a partner.
//
// - A track on which each end directly follows its start in the file is paired in that order.
// - A track in the order of time is paired as a stack.
// - Any other track is sorted by time first. Fails for a slice without duration inside another one on such a track: it
//   takes the end of the other one.
//
// If a start event repeats both times as arguments, the arguments are used. Throws Cancelled.
class Pairing {
 public:
  explicit Pairing(Events& events) : events_(events) {}

  std::vector<PairedSlice> pair(const Reading& reading) {
    std::vector<std::vector<std::uint32_t>> of_track(events_.tracks.size());
    for (std::uint32_t i = 0; i < events_.events.size(); ++i)
      if (events_.events[i].type != EventType::counter) of_track[events_.events[i].track].push_back(i);
    for (std::vector<std::uint32_t>& list : of_track) {
      reading.check();
      pair_track(list);
    }
    return std::move(slices_);
  }

 private:
  struct Open {
    std::uint32_t event = 0;
    bool has_child = false;
  };

  const Event& at(std::uint32_t index) const { return events_.events[index]; }
  bool is_end(std::uint32_t index) const { return at(index).type == EventType::end; }
  void skip(std::string_view reason) { ++events_.skipped[reason]; }

  void pair_track(std::vector<std::uint32_t>& list) {
    const auto by_time = [&](std::uint32_t a, std::uint32_t b) { return at(a).time_ns < at(b).time_ns; };
    if (alternates(list)) {
      for (std::size_t i = 0; i < list.size(); i += 2)
        i + 1 < list.size() ? close({list[i]}, at(list[i + 1]).time_ns) : leave_open({list[i]});
      return;
    }
    const bool is_in_order = std::is_sorted(list.begin(), list.end(), by_time);
    if (!is_in_order) std::stable_sort(list.begin(), list.end(), by_time);
    stack_.clear();
    for (std::size_t first = 0; first < list.size();) {
      std::size_t last = first + 1;
      if (!is_in_order)
        while (last < list.size() && at(list[last]).time_ns == at(list[first]).time_ns) ++last;
      take_moment({list.data() + first, last - first});
      first = last;
    }
    for (const Open& open : stack_) leave_open(open);
  }

  // Whether each end directly follows its start.
  bool alternates(const std::vector<std::uint32_t>& list) const {
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (is_end(list[i]) != (i % 2 == 1)) return false;
      if (i % 2 == 1 && at(list[i]).time_ns < at(list[i - 1]).time_ns) return false;
    }
    return true;
  }

  // Events at the same time: ends of earlier slices, then starts, then ends of slices without duration.
  void take_moment(std::span<const std::uint32_t> moment) {
    std::size_t num_ends = 0;
    for (const std::uint32_t index : moment) {
      if (!is_end(index)) continue;
      if (stack_.empty())
        ++num_ends;
      else
        close_last(at(index).time_ns);
    }
    for (const std::uint32_t index : moment)
      if (!is_end(index)) stack_.push_back({index});
    for (; num_ends > 0; --num_ends)
      stack_.empty() ? skip("end of a slice without a start") : close_last(at(moment.front()).time_ns);
  }

  void close_last(std::int64_t end_ns) {
    const Open open = stack_.back();
    stack_.pop_back();
    if (!stack_.empty()) stack_.back().has_child = true;
    close(open, end_ns);
  }

  void leave_open(const Open& open) {
    const Arguments* const arguments = arguments_of(open.event);
    if (arguments == nullptr || arguments->end_ns < 0) return skip("slice without an end");
    close(open, arguments->end_ns);
  }

  const Arguments* arguments_of(std::uint32_t event) const {
    const std::uint32_t index = at(event).arguments;
    return index == kNone ? nullptr : &events_.arguments[index];
  }

  void close(const Open& open, std::int64_t end_ns) {
    std::int64_t start_ns = at(open.event).time_ns;
    const Arguments* const arguments = arguments_of(open.event);
    if (arguments != nullptr && arguments->begin_ns >= 0 && arguments->end_ns >= arguments->begin_ns &&
        arguments->end_ns <= kMostTimeNs) {
      start_ns = arguments->begin_ns;
      end_ns = arguments->end_ns;
    }
    const std::int64_t duration_ns = end_ns - start_ns;
    if (const std::string_view fault = duration_fault(duration_ns); !fault.empty()) return skip(fault);
    slices_.push_back({open.event, start_ns, duration_ns, open.has_child});
  }

  Events& events_;
  std::vector<PairedSlice> slices_;
  std::vector<Open> stack_;
};

const Arguments kNoArguments;

class RowBuilder {
 public:
  RowBuilder(Events& events, KinetoLanes& lanes)
      : events_(events), lanes_(lanes), places_(places_of(events.tracks)), next_id_(std::int64_t{1} << 52) {}

  KinetoEvents build(const Reading& reading) {
    const std::vector<PairedSlice> slices = Pairing(events_).pair(reading);
    has_arguments_.assign(events_.tracks.size(), false);
    for (const Event& event : events_.events)
      if (event.type == EventType::begin && event.arguments != kNone) has_arguments_[event.track] = true;
    row_of_event_.assign(events_.events.size(), kNone);
    rows_.rows.reserve(slices.size() + events_.stages.size());
    for (std::uint32_t i = 0; i < events_.stages.size(); ++i) add_stage(i);
    constexpr std::size_t kSlicesPerCheck = 4096;
    for (std::size_t i = 0; i < slices.size(); ++i) {
      if (i % kSlicesPerCheck == 0) reading.check();
      add_slice(slices[i]);
    }
    join_by_ids();
    reading.check();
    find_collectives();
    reading.check();
    for (const Event& event : events_.events)
      if (event.type == EventType::counter) add_counter(event);
    std::ranges::stable_sort(rows_.rows, {}, &KinetoRow::time_ns);
    add_names();
    rows_.events = events_.num_events;
    rows_.skipped = events_.skipped;
    return std::move(rows_);
  }

 private:
  // A range of the host in which a collective was launched.
  struct Range {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    std::int64_t external_id = 0;
  };

  std::uint32_t lane_of(KinetoId pid, KinetoId tid, KinetoCategory category) {
    const KinetoLane lane{.pid = pid, .tid = tid, .category = category};
    const auto [found, is_new] = indices_.try_emplace(lane, 0);
    if (is_new) found->second = lanes_.index_of(lane);
    return found->second;
  }

  // PyTorch puts kernels of CUDA graphs on lanes with names of their own ("[9] DP"), and keeps the number of the
  // stream.
  void add_stage(std::uint32_t index) {
    const RenderStage& stage = events_.stages[index];
    const auto category = category_of_stage(stage);
    if (!category) {
      const std::string_view name = name_of(stage.stage);
      if (name != "EventRecord" && name != "HostNode") ++events_.skipped["render stage other than a kernel or a copy"];
      return;
    }
    const Arguments& arguments = events_.arguments[stage.arguments];
    KinetoRow row{.time_ns = stage.start_ns,
                  .duration_ns = stage.duration_ns,
                  .name = stage.name == kNoName ? stage.stage : stage.name};
    Place place{.pid = {}, .tid = {.text = stage.queue}, .stream = stream_in(name_of(stage.queue))};
    const bool is_logical = place.stream < 0 && stage.queue != kNoName;
    if (is_logical) place.thread_name = stage.queue;
    add_work(row, *category, arguments, place);
    if (stage.event_id >= 0) row_of_stage_.emplace(stage.event_id, static_cast<std::uint32_t>(rows_.rows.size()));
    rows_.rows.push_back(row);
  }

  // A lane named in `place.thread_name` is its own; otherwise it is the stream's.
  void add_work(KinetoRow& row, KinetoCategory category, const Arguments& arguments, const Place& place) {
    KinetoWork work = arguments.work;
    if (work.device < 0) work.device = std::max(place.device, 0);
    if (!work.has_stream && place.stream >= 0) work.stream = place.stream;
    work.has_stream = work.has_stream || place.stream >= 0;
    KinetoId tid{.number = work.stream};
    if (place.thread_name != kNoName || !work.has_stream) tid = place.tid;
    const KinetoId pid{.number = work.device};
    row.category = category;
    row.id = arguments.correlation;
    row.lane = lane_of(pid, tid, category);
    if (place.thread_name != kNoName) lane_names_.try_emplace(KinetoLane{pid, tid, category}, place.thread_name);
    row.extra = static_cast<std::uint32_t>(rows_.work.size());
    if (arguments.has_collective()) {
      work.collective = static_cast<std::uint32_t>(rows_.collectives.size());
      rows_.collectives.push_back(arguments.collective);
    }
    rows_.work.push_back(work);
  }

  KinetoCategory category_of(const PairedSlice& slice, const Event& event) const {
    const Place& place = places_[event.track];
    const std::string_view name = name_of(event.name);
    const bool is_of_gpu = place.stream >= 0 || place.device >= 0;
    if (const auto known = category_named(name_of(event.category))) {
      const bool is_placed = !is_of_device(*known) || is_of_gpu || event.arguments != kNone;
      return is_placed ? *known : Category::host;
    }
    if (place.stream >= 0) return category_on_stream(slice, event);
    if (is_api_name(name) && event.arguments != kNone) return Category::call;
    return is_operator_name(name) ? Category::host : Category::annotation;
  }

  // Annotations of a stream contain kernels, or have no arguments where kernels have some.
  KinetoCategory category_on_stream(const PairedSlice& slice, const Event& event) const {
    const std::string_view name = name_of(event.name);
    if (is_wait_name(name)) return Category::sync;
    if (is_copy_name(name)) return Category::copy;
    const bool is_annotation = event.arguments == kNone && (slice.has_child || has_arguments_[event.track]);
    return is_annotation ? Category::gpu_annotation : Category::kernel;
  }

  void add_slice(const PairedSlice& slice) {
    const Event& event = events_.events[slice.event];
    const Arguments& arguments = event.arguments == kNone ? kNoArguments : events_.arguments[event.arguments];
    const KinetoCategory category = category_of(slice, event);
    if (category == Category::profiler) return;
    KinetoRow row{
        .time_ns = slice.start_ns, .duration_ns = slice.duration_ns, .name = event.name, .category = category};
    if (is_of_device(category)) {
      const bool is_between = arguments.from_device >= 0 && arguments.to_device >= 0;
      if (category == Category::copy && is_between && arguments.from_device != arguments.to_device)
        row.name = intern("CopyPeerToPeer");  // rocprofv3's name is that of a copy within a device
      Place place = places_[event.track];
      place.thread_name = kNoName;
      add_work(row, category, arguments, place);
    } else {
      add_host(row, event, arguments);
    }
    row_of_event_[slice.event] = static_cast<std::uint32_t>(rows_.rows.size());
    rows_.rows.push_back(row);
  }

  void add_host(KinetoRow& row, const Event& event, const Arguments& arguments) {
    const std::string_view name = name_of(event.name);
    const Place& place = places_[event.track];
    row.lane = lane_of(place.pid, place.tid, row.category);
    if (place.thread_name != kNoName)
      lane_names_.try_emplace(KinetoLane{place.pid, place.tid, row.category}, place.thread_name);
    row.id = arguments.correlation;
    KinetoCollective collective = arguments.collective;
    row.is_of_gloo = name.starts_with(kGlooRange);
    row.is_range_of_collective = name.starts_with(kProcessGroupRange);
    if (row.is_of_gloo && !arguments.has_collective())
      collective.name = intern(name.substr(kGlooRange.size(), name.find(' ') - kGlooRange.size()));
    if (name_of(event.category) == "rccl_api") {
      row.is_range_of_collective = true;
      collective.name = intern(collective_of_function(name));
    }
    const bool is_described = name == kRecordParamComms || row.is_of_gloo || row.is_range_of_collective;
    row.has_collective = is_described && collective.name != kNoName;
    if (!row.has_collective) return;
    row.id = arguments.work.external_id > 0 ? arguments.work.external_id : next_id_++;
    row.extra = static_cast<std::uint32_t>(rows_.collectives.size());
    rows_.collectives.push_back(collective);
  }

  void add_counter(const Event& event) {
    const Place& place = places_[event.track];
    KinetoRow row{.time_ns = event.time_ns,
                  .name = events_.tracks[event.track].name == kNoName ? event.name : events_.tracks[event.track].name,
                  .lane = lane_of(place.pid, place.tid, Category::host),
                  .extra = static_cast<std::uint32_t>(rows_.values.size()),
                  .phase = 'C'};
    rows_.values.push_back(events_.values[event.arguments]);
    rows_.rows.push_back(row);
  }

  void add_names() {
    for (const auto& [lane, name] : lane_names_)
      rows_.rows.push_back({.name = name,
                            .lane = lane_of(lane.pid, lane.tid, lane.category),
                            .extra = static_cast<std::uint32_t>(KinetoLabel::thread_name),
                            .category = lane.category,
                            .phase = 'M'});
  }

  // Gives work without a correlation the one of the call with the same flow or event id.
  void join_by_ids() {
    for (const Link& link : events_.launches) {
      const auto stage = row_of_stage_.find(link.id);
      const std::uint32_t event = row_of_event_[link.event];
      if (stage != row_of_stage_.end() && event != kNone) join(rows_.rows[event], rows_.rows[stage->second]);
    }
    std::unordered_map<std::int64_t, std::uint32_t> work_of_flow;
    const auto is_work = [&](std::uint32_t row) { return row != kNone && rows_.rows[row].category <= Category::copy; };
    for (const Link& link : events_.flows)
      if (is_work(row_of_event_[link.event])) work_of_flow.emplace(link.id, row_of_event_[link.event]);
    for (const Link& link : events_.flows) {
      const std::uint32_t row = row_of_event_[link.event];
      const auto work = work_of_flow.find(link.id);
      if (row != kNone && work != work_of_flow.end() && !is_of_device(rows_.rows[row].category))
        join(rows_.rows[row], rows_.rows[work->second]);
    }
  }

  // A call that launches several kernels has one correlation.
  void join(KinetoRow& call, KinetoRow& work) {
    if (call.has_collective || (work.id > 0 && call.id > 0)) return;
    if (call.category != Category::call) {
      const KinetoLane lane = lanes_.lane(call.lane);
      call.category = Category::call;
      call.lane = lane_of(lane.pid, lane.tid, call.category);
    }
    if (call.id <= 0) call.id = work.id > 0 ? work.id : next_id_++;
    if (work.id <= 0) work.id = call.id;
  }

  // Work has the external id of the record_param_comms in which its call lies.
  void find_collectives() {
    std::map<std::pair<KinetoId, KinetoId>, std::vector<Range>> ranges;
    std::unordered_map<std::int64_t, const KinetoRow*> calls;
    for (const KinetoRow& row : rows_.rows) {
      if (row.has_collective && !row.is_of_gloo && !row.is_range_of_collective) {
        const KinetoLane lane = lanes_.lane(row.lane);
        ranges[{lane.pid, lane.tid}].push_back({row.time_ns, row.time_ns + row.duration_ns, row.id});
      }
      if (row.category == Category::call && row.id > 0) calls.emplace(row.id, &row);
    }
    if (ranges.empty()) return;
    for (auto& [thread, list] : ranges) std::ranges::sort(list, {}, &Range::start_ns);
    for (const KinetoRow& row : rows_.rows) {
      if (row.category > Category::copy) continue;
      KinetoWork& work = rows_.work[row.extra];
      const auto found = calls.find(row.id);
      if (work.external_id > 0 || found == calls.end()) continue;
      const KinetoRow& launch = *found->second;
      const KinetoLane lane = lanes_.lane(launch.lane);
      const auto of_thread = ranges.find({lane.pid, lane.tid});
      if (of_thread == ranges.end()) continue;
      const auto next = std::ranges::upper_bound(of_thread->second, launch.time_ns, {}, &Range::start_ns);
      if (next == of_thread->second.begin() || std::prev(next)->end_ns < launch.time_ns) continue;
      work.external_id = std::prev(next)->external_id;
      work.collective = KinetoWork::kNoCollective;
    }
  }

  Events& events_;
  KinetoLanes& lanes_;
  KinetoEvents rows_;
  std::vector<Place> places_;
  std::vector<bool> has_arguments_;              // by track: some slice has arguments
  std::map<KinetoLane, std::uint32_t> indices_;  // of lanes
  std::map<KinetoLane, NameId> lane_names_;
  std::vector<std::uint32_t> row_of_event_;
  std::map<std::int64_t, std::uint32_t> row_of_stage_;  // by RenderStage::event_id
  std::int64_t next_id_;                                // for what the file gives no id
};

}  // namespace

KinetoEvents rows_of(Events& events, KinetoLanes& lanes, const Reading& reading) {
  return RowBuilder(events, lanes).build(reading);
}

}  // namespace underlap::formats::pftrace
