// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/nsys/import.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <string>

namespace underlap::formats::nsys {
namespace {

// "cudaLaunchKernel_ptsz_v7000" is cudaLaunchKernel: the suffixes for the release and the default stream do not matter
// here.
std::string_view without_version(std::string_view name) {
  const std::size_t at = name.rfind("_v");
  if (at != std::string_view::npos && at + 2 < name.size() &&
      name.find_first_not_of("0123456789", at + 2) == std::string_view::npos)
    name = name.substr(0, at);
  for (const std::string_view suffix : {"_ptsz", "_ptds"})
    if (name.ends_with(suffix)) name.remove_suffix(suffix.size());
  return name;
}

// The calls of one process by their correlation, which repeats between processes.
class Calls {
 public:
  void add(std::uint32_t correlation, std::uint32_t slice) { calls_.push_back({correlation, slice}); }

  void sort() {
    const auto before = [](const Call& a, const Call& b) { return a.correlation < b.correlation; };
    if (!std::is_sorted(calls_.begin(), calls_.end(), before)) std::stable_sort(calls_.begin(), calls_.end(), before);
  }

  // Work is looked up nearly in the order of its calls, so the next call is usually slightly after the last one found.
  std::uint32_t find(std::uint32_t correlation) {
    constexpr std::size_t kNear = 64;
    const auto before = [](const Call& call, std::uint32_t wanted) { return call.correlation < wanted; };
    const bool is_behind = last_ < calls_.size() && calls_[last_].correlation <= correlation;
    const auto begin = calls_.begin() + static_cast<std::ptrdiff_t>(is_behind ? last_ : 0);
    const std::size_t rest = static_cast<std::size_t>(calls_.end() - begin);
    auto end = begin + static_cast<std::ptrdiff_t>(std::min(rest, kNear));
    if (end != calls_.end() && end->correlation < correlation) end = calls_.end();
    const auto found = std::lower_bound(begin, end, correlation, before);
    if (found == calls_.end() || found->correlation != correlation) return kNoSlice;
    last_ = static_cast<std::size_t>(found - calls_.begin());
    return found->slice;
  }

 private:
  struct Call {
    std::uint32_t correlation = 0;
    std::uint32_t slice = 0;
  };
  std::vector<Call> calls_;
  std::size_t last_ = 0;
};

using CallsOfProcesses = std::map<Process, Calls>;

// 60120972970|60120983658|281477392629904|2610905|1364242, a string that is "cudaLaunchKernel_v7000"
CallsOfProcesses read_call_table(Import& import) {
  const std::string table = "CUPTI_ACTIVITY_KIND_RUNTIME";
  Rows rows(import.database(), table, {"start", "end", "globalTid", "correlationId", "nameId"});
  Names names(import, without_version);
  CallsOfProcesses processes;
  while (import.next(rows)) {
    ++import.trace.import.events;
    const auto tid = rows.integer(2);
    if (tid && !import.has_work(process_of(*tid))) {
      import.skip("call of a process without GPU work");
      continue;
    }
    const auto span = import.span(rows, "call");
    if (!span) continue;
    const std::int64_t correlation = rows.integer_or(3, 0);
    if (correlation > 0 && correlation <= std::numeric_limits<std::uint32_t>::max())
      processes[process_of(tid.value_or(0))].add(static_cast<std::uint32_t>(correlation),
                                                 static_cast<std::uint32_t>(import.trace.size()));
    import.add(import.thread_track(tid.value_or(0)), *span, names(rows.integer_or(4, -1)));
  }
  import.end_table(table, rows);
  for (auto& [process, calls] : processes) calls.sort();
  return processes;
}

// Work of an unknown process belongs to the only process, if there is just one.
Calls* calls_of(CallsOfProcesses& processes, Process process) {
  const auto found = processes.find(process);
  if (found != processes.end()) return &found->second;
  return process == kUnknownProcess && processes.size() == 1 ? &processes.begin()->second : nullptr;
}

}  // namespace

std::vector<std::uint32_t> read_calls(Import& import) {
  CallsOfProcesses processes = read_call_table(import);
  std::vector<std::uint32_t> call_of_work(import.device_work.size(), kNoSlice);
  Trace& trace = import.trace;
  std::int64_t too_early = 0;
  for (std::size_t i = 0; i < call_of_work.size(); ++i) {
    const DeviceWork& work = import.device_work[i];
    Calls* const calls = work.correlation == 0 ? nullptr : calls_of(processes, work.process);
    const std::uint32_t call = calls == nullptr ? kNoSlice : calls->find(work.correlation);
    if (call == kNoSlice) continue;
    call_of_work[i] = call;
    trace.flows.push_back({.from = call, .to = work.slice, .kind = FlowKind::launch});
    too_early += trace.start_ns()[work.slice] < trace.start_ns()[call] ? 1 : 0;
  }
  if (too_early > 0) import.skip("work that starts before its call (kept)", too_early);
  return call_of_work;
}

}  // namespace underlap::formats::nsys
