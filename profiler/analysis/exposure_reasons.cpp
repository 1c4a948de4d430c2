// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/exposure_reasons.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

#include "profiler/analysis/exposure.hpp"
#include "profiler/analysis/waits/covered_time.hpp"
#include "profiler/trace/communication_parts.hpp"
#include "profiler/trace/enum_names.hpp"
#include "profiler/trace/kernel_name.hpp"

namespace underlap::analysis {
namespace {

constexpr EnumNames<ExposureReason, kNumExposureReasons> kReasons{
    {"late_rank", "pipeline", "same_stream", "late_launch", "event", "no_other_work", "unknown"}};

// The exposed time of a communication, and its part that waits for other members. Nanoseconds.
struct Exposed {
  std::int64_t exposed_ns = 0;
  std::int64_t wait_ns = 0;
};

// Of one slice in the windows of its rank, which are in order of time.
Exposed exposed_in(const Trace& trace, std::uint32_t slice, const CoveredTime& compute,
                   const std::vector<Window>& windows) {
  const std::int64_t start = trace.start_ns()[slice], end = trace.end_ns(slice);
  const CommunicationRecord* const record = trace.communication(slice);
  const std::int64_t arrival = record == nullptr || record->last_arrival_ns == -1 ? start : record->last_arrival_ns;
  const auto exposed_within = [&](std::int64_t from, std::int64_t to) {
    return to <= from ? 0 : to - from - compute.within(from, to);
  };
  Exposed exposed;
  auto window = std::ranges::lower_bound(windows, start, {}, &Window::end_ns);
  for (; window != windows.end() && window->begin_ns < end; ++window) {
    const std::int64_t from = std::max(start, window->begin_ns), to = std::min(end, window->end_ns);
    exposed.exposed_ns += exposed_within(from, to);
    exposed.wait_ns += exposed_within(from, std::min(to, arrival));
  }
  return exposed;
}

void add_sums(const Trace& trace, ExposureReasons& found) {
  using Key = std::tuple<Mode, NameId, ExposureReason, NameId, NameId, bool>;
  std::map<Key, ExposureReasonSum> sums;
  for (const ExposedCommunication& one : found.communications) {
    const Tag& tag = trace.tag(one.slice);
    auto& sum = sums[{tag.mode, tag.purpose, one.reason, one.waits_for, one.holds_up, one.is_guessed}];
    sum = {tag.mode,     tag.purpose,    one.reason,    one.waits_for,
           one.holds_up, one.is_guessed, sum.count + 1, sum.exposed_ns + one.exposed_ns};
  }
  for (const auto& [key, sum] : sums) found.sums.push_back(sum);
  std::ranges::stable_sort(found.sums, std::ranges::greater(), &ExposureReasonSum::exposed_ns);
}

std::string short_name(NameId name) { return name == kNoName ? "" : short_work_name(name_of(name)); }

}  // namespace

std::string_view to_string(ExposureReason reason) { return kReasons[reason]; }

std::int64_t ExposureReasons::exposed_ns() const {
  std::int64_t sum = 0;
  for (const ExposureReasonSum& row : sums) sum += row.exposed_ns;
  return sum;
}

ExposureReasons find_exposure_reasons(const Trace& trace, std::span<const ExposureCause> causes,
                                      std::span<const Window> windows) {
  auto windows_of = windows_by_rank(windows);
  std::map<std::int32_t, CoveredTime> compute = covered_by_compute(trace);
  const CommunicationParts parts(trace);
  std::map<std::uint32_t, Exposed> exposed;  // by first slice
  for (std::uint32_t i = 0; i < trace.size(); ++i) {
    if (trace.tag(i).kind != Kind::communication) continue;
    const std::int32_t rank = trace.track_of(i).rank;
    const Exposed one = exposed_in(trace, i, compute[rank], windows_of[rank]);
    Exposed& whole = exposed[static_cast<std::uint32_t>(parts.first_of(i))];
    whole.exposed_ns += one.exposed_ns;
    whole.wait_ns += one.wait_ns;
  }
  ExposureReasons found;
  for (const ExposureCause& cause : causes) {
    const auto one = exposed.find(cause.slice);
    if (one == exposed.end() || one->second.exposed_ns <= 0) continue;
    const auto [exposed_ns, wait_ns] = one->second;
    found.communications.push_back({cause, trace.track_of(cause.slice).rank, exposed_ns});
    if (2 * wait_ns <= exposed_ns) continue;
    ExposedCommunication& waits = found.communications.back();
    waits.reason = receives_in_pipeline(trace, cause.slice) ? ExposureReason::pipeline : ExposureReason::late_rank;
    waits.waits_for = kNoName;
    waits.is_guessed = false;
  }
  add_sums(trace, found);
  return found;
}

std::string clause_of(const ExposedCommunication& one) {
  ExposureReasonSum sum;
  sum.reason = one.reason;
  sum.waits_for = one.waits_for;
  sum.holds_up = one.holds_up;
  return clause_of(sum);
}

std::string clause_of(const ExposureReasonSum& sum) {
  const std::string what = short_name(sum.waits_for);
  switch (sum.reason) {
    case ExposureReason::late_rank: return "it waits for a late rank";
    case ExposureReason::pipeline: return "it waits for another pipeline stage to compute";
    case ExposureReason::same_stream:
      return what.empty() ? "compute shares its stream" : fmt::format("it runs after {} on the same stream", what);
    case ExposureReason::late_launch:
      return what.empty() ? "the host launches it late"
                          : fmt::format("the host launches it late, after waiting in {}", what);
    case ExposureReason::event:
      return what.empty() ? "it waits for another stream" : fmt::format("it waits for {} on another stream", what);
    case ExposureReason::no_other_work: {
      const std::string next = short_name(sum.holds_up);
      if (next.empty()) return "no independent work is left";
      return what.empty()
                 ? fmt::format("no independent work is left; {} waits for it", next)
                 : fmt::format("no independent work is left: it runs after {}, and {} waits for it", what, next);
    }
    case ExposureReason::unknown: break;
  }
  return "the trace does not show why";
}

}  // namespace underlap::analysis
