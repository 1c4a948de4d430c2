// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/details/what_if.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "profiler/analysis/details/medians.hpp"
#include "profiler/analysis/intervals.hpp"
#include "profiler/trace/saturating.hpp"

namespace underlap::analysis {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();

enum What : std::uint8_t { begins, ends, step_begins, step_ends };

// At one time: what ends lets others begin; what waited for a member that came at its very end stands after that one,
// as what takes no time stands after its own begin.
enum Order : std::uint8_t { ends_first, begins_then, ends_after, steps_last };

std::int64_t median_step(const Replayed& replayed) {
  std::vector<double> steps(replayed.step_ns.begin(), replayed.step_ns.end());
  return static_cast<std::int64_t>(median_of_values(steps));
}

}  // namespace

Replayer::Replayer(const Trace& trace, const Communications& communications, std::span<const Window> steps)
    : trace_(trace), steps_(steps.begin(), steps.end()) {
  std::map<std::int32_t, std::size_t> index;
  for (const Track& track : trace.tracks) index.emplace(track.rank, 0);
  for (auto& [rank, i] : index) {
    i = ranks_.size();
    ranks_.push_back(rank);
  }
  for (const Track& track : trace.tracks) {
    offset_ns_.push_back(communications.offset_ns(track.rank));
    rank_of_track_.push_back(index.at(track.rank));
  }
  read_matches(communications);
  for (std::uint32_t i = 0; i < trace.size(); ++i) {
    if (!trace.is_work(i)) continue;
    const auto arrival = last_arrival_ns_.find(i);
    const bool is_after = end(i) <= start(i) || (arrival != last_arrival_ns_.end() && arrival->second >= end(i));
    events_.push_back({start(i), i, Order::begins_then, What::begins});
    events_.push_back({std::max(start(i), end(i)), i, is_after ? Order::ends_after : Order::ends_first, What::ends});
  }
  std::erase_if(steps_, [&](const Window& step) { return !index.contains(step.rank); });
  for (std::uint32_t i = 0; i < steps_.size(); ++i) {
    const Window& step = steps_[i];
    events_.push_back({communications.common_ns(step.rank, step.begin_ns), i, Order::steps_last, What::step_begins});
    events_.push_back({communications.common_ns(step.rank, step.end_ns), i, Order::steps_last, What::step_ends});
  }
  std::ranges::stable_sort(events_, [](const Event& a, const Event& b) {
    return std::tie(a.time_ns, a.order) < std::tie(b.time_ns, b.order);
  });
}

std::int64_t Replayer::start(std::uint32_t slice) const {
  return saturating_subtract(trace_.start_ns()[slice], offset_ns_[trace_.track(slice)]);
}

std::int64_t Replayer::end(std::uint32_t slice) const {
  return saturating_subtract(trace_.end_ns(slice), offset_ns_[trace_.track(slice)]);
}

// A slice that ended before the last member came did not wait for it.
void Replayer::read_matches(const Communications& communications) {
  const std::vector<Match>& matches = communications.matching.matches;
  num_members_.resize(matches.size());
  matches_of_.clear();
  is_schedule_.resize(matches.size());
  for (std::uint32_t m = 0; m < matches.size(); ++m) {
    const std::vector<MatchMember>& members = matches[m].members;
    std::int64_t last = std::numeric_limits<std::int64_t>::min();
    for (const MatchMember& member : members) last = std::max(last, start(member.slice));
    num_members_[m] = members.size();
    is_schedule_[m] = matches[m].is_message() && trace_.tag(members.front().slice).mode == Mode::pp;
    for (const MatchMember& member : members) {
      matches_of_[member.slice].push_back(m);
      if (last > end(member.slice)) continue;
      waited_for_[member.slice].push_back(m);
      std::int64_t& arrival = last_arrival_ns_.try_emplace(member.slice, last).first->second;
      arrival = std::max(arrival, last);
    }
  }
}

// One replay: what has ended on each rank so far, as it was and as it would be.
class Replayer::Run {
 public:
  Run(const Replayer& replayer, const Change& change)
      : replayer_(replayer),
        change_(change),
        ended_ns_(replayer.ranks_.size()),
        new_ended_ns_(replayer.ranks_.size()),
        new_start_ns_(replayer.trace_.size()),
        new_arrival_ns_(replayer.num_members_.size(), kNever),
        num_arrived_(replayer.num_members_.size()) {}

  Replayed play() {
    const auto first_work = std::ranges::find(replayer_.events_, std::uint8_t{What::begins}, &Event::what);
    if (first_work == replayer_.events_.end()) return {};
    const std::int64_t first = first_work->time_ns;
    ended_ns_.assign(ended_ns_.size(), first);
    new_ended_ns_.assign(ended_ns_.size(), first);
    for (const Event& event : replayer_.events_) {
      if (event.what == What::begins)
        begin(event.index);
      else if (event.what == What::ends)
        end(event.index);
      else
        step(event);
    }
    Replayed replayed{.span_ns = std::ranges::max(new_ended_ns_) - first, .step_ns = {}};
    for (const auto& [step, time] : steps_) replayed.step_ns.push_back(time.end - time.begin);
    return replayed;
  }

 private:
  std::size_t rank_index(std::uint32_t slice) const { return replayer_.rank_of_track_[replayer_.trace_.track(slice)]; }

  bool is_left_out(std::uint32_t slice) const {
    const Tag& tag = replayer_.trace_.tag(slice);
    return change_.without_mode && tag.kind == Kind::communication && tag.mode == *change_.without_mode;
  }

  void begin(std::uint32_t slice) {
    const std::size_t rank = rank_index(slice);
    std::int64_t& start = new_start_ns_[slice];
    start = new_ended_ns_[rank] + (replayer_.start(slice) - ended_ns_[rank]);
    const auto found = replayer_.matches_of_.find(slice);
    if (found == replayer_.matches_of_.end()) return;
    if (change_.without_rank && replayer_.ranks_[rank] == *change_.without_rank)
      come_in_time(rank, found->second, start);
    for (const std::uint32_t match : found->second) {
      new_arrival_ns_[match] = std::max(new_arrival_ns_[match], start);
      ++num_arrived_[match];
    }
  }

  // What the rank did before is taken to have been over in time, too.
  void come_in_time(std::size_t rank, const std::vector<std::uint32_t>& matches, std::int64_t& start) {
    for (const std::uint32_t match : matches) {
      const bool comes_last = num_arrived_[match] + 1 == replayer_.num_members_[match];
      if (!comes_last || replayer_.is_schedule_[match] || start <= new_arrival_ns_[match]) continue;
      start = new_arrival_ns_[match];
      new_ended_ns_[rank] = std::min(new_ended_ns_[rank], start);
    }
  }

  void end(std::uint32_t slice) {
    const std::size_t rank = rank_index(slice);
    std::int64_t new_end = new_start_ns_[slice];
    const std::int64_t old_end = std::max(replayer_.start(slice), replayer_.end(slice));
    if (!is_left_out(slice)) {
      const auto waited = replayer_.waited_for_.find(slice);
      if (waited == replayer_.waited_for_.end()) {
        new_end += old_end - replayer_.start(slice);
      } else {
        for (const std::uint32_t match : waited->second) new_end = std::max(new_end, new_arrival_ns_[match]);
        new_end += old_end - replayer_.last_arrival_ns_.at(slice);
      }
    }
    ended_ns_[rank] = std::max(ended_ns_[rank], old_end);
    new_ended_ns_[rank] = std::max(new_ended_ns_[rank], new_end);
  }

  void step(const Event& event) {
    const Window& window = replayer_.steps_[event.index];
    const std::size_t rank =
        static_cast<std::size_t>(std::ranges::lower_bound(replayer_.ranks_, window.rank) - replayer_.ranks_.begin());
    const std::int64_t time = new_ended_ns_[rank] + (event.time_ns - ended_ns_[rank]);
    const auto [found, is_new] = steps_.emplace(std::pair(window.block, window.step), Interval{kNever, kNever});
    std::int64_t& latest = event.what == What::step_begins ? found->second.begin : found->second.end;
    latest = std::max(latest, time);
  }

  const Replayer& replayer_;
  const Change& change_;
  std::vector<std::int64_t> ended_ns_, new_ended_ns_;  ///< latest end on each rank so far
  std::vector<std::int64_t> new_start_ns_;             ///< of slices
  std::vector<std::int64_t> new_arrival_ns_;           ///< of matches, so far
  std::vector<std::size_t> num_arrived_;
  std::map<std::pair<std::int32_t, std::int32_t>, Interval> steps_;  ///< by block and step
};

Replayed Replayer::replay(const Change& change) const { return Run(*this, change).play(); }

std::vector<WhatIf> what_if(const Trace& trace, const Communications& communications, std::span<const Window> steps,
                            std::optional<std::int32_t> late_rank) {
  const Replayer replayer(trace, communications, steps);
  const Replayed before = replayer.replay({});
  std::vector<WhatIf> answers;
  const auto ask = [&](const Change& change, std::string name, std::string assumption) {
    const Replayed after = replayer.replay(change);
    const bool is_step = !before.step_ns.empty();
    answers.push_back({.name = std::move(name),
                       .assumption = std::move(assumption),
                       .before_ns = is_step ? median_step(before) : before.span_ns,
                       .after_ns = is_step ? median_step(after) : after.span_ns,
                       .is_step = is_step});
  };
  constexpr const char* kRest = "all else keeps its order, its durations and the gaps before it";
  std::set<Mode> modes;
  for (std::size_t i = 0; i < trace.size(); ++i)
    if (trace.tag(i).kind == Kind::communication) modes.insert(trace.tag(i).mode);
  for (const Mode mode : modes) {
    const std::string name = mode == Mode::none ? "unattributed" : std::string(to_string(mode));
    ask({.without_mode = mode, .without_rank = {}}, fmt::format("without {}", name),
        fmt::format("Communication of {} takes no time and waits for nobody; {}.",
                    mode == Mode::none ? "no known mode" : "mode " + name, kRest));
  }
  if (late_rank)
    ask({.without_mode = {}, .without_rank = late_rank}, fmt::format("without rank {} coming late", *late_rank),
        fmt::format("Rank {} comes to no communication later than its other members; {}.", *late_rank, kRest));
  std::ranges::stable_sort(answers, {}, [](const WhatIf& answer) { return -answer.saved_ns(); });
  return answers;
}

}  // namespace underlap::analysis
