// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/waits/covered_time.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <unordered_map>
#include <utility>
#include <vector>

namespace underlap::analysis {
namespace {

// A member of a match on the clock of all ranks.
struct Part {
  std::size_t arrival = 0;  ///< index into the arrivals
  std::uint32_t slice = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

// The time in which two ranks are compared: from a common begin to the start of each.
struct Race {
  std::int32_t late = 0;
  std::int32_t peer = 0;
  std::int64_t begin_ns = 0;
  std::int64_t late_start_ns = 0;
  std::int64_t peer_start_ns = 0;
};

struct KernelTimes {
  std::int64_t count = 0;  ///< of the late rank less those of its peer
  std::int64_t ns = 0;     ///< likewise
};

class CauseFinder {
 public:
  CauseFinder(const Trace& trace, const Communications& communications, const std::map<std::int32_t, RankTime>& times,
              std::span<LateArrival> arrivals)
      : trace_(trace), communications_(communications), times_(times), arrivals_(arrivals), work_(work_by_rank(trace)) {
    for (std::size_t i = 0; i < arrivals.size(); ++i)
      for (const MatchMember& member : match_of(arrivals[i]).members) parts_[member.rank].push_back(part_of(i, member));
    for (auto& [rank, parts] : parts_) std::ranges::stable_sort(parts, {}, &Part::start_ns);
    for (const Flow& flow : trace.flows)
      if (flow.kind == FlowKind::launch && trace.tag(flow.to).kind == Kind::communication)
        call_of_.emplace(flow.to, flow.from);
  }

  void run() {
    for (std::size_t i = 0; i < arrivals_.size(); ++i) find(i);
  }

 private:
  const Match& match_of(const LateArrival& arrival) const { return communications_.matching.matches[arrival.match]; }

  Part part_of(std::size_t arrival, const MatchMember& member) const {
    return {arrival, member.slice, communications_.common_ns(member.rank, trace_.start_ns()[member.slice]),
            communications_.common_ns(member.rank, trace_.end_ns(member.slice))};
  }

  static void blame(LateArrival& arrival, LateCause cause, std::int64_t ns) {
    arrival.own_cause = cause;
    arrival.cause_ns = ns;
  }

  bool is_resolved(const LateArrival& arrival, std::int32_t rank, std::int64_t start_ns) const {
    const auto uncertainty = communications_.alignment.uncertainty_ns(rank, arrival.last_rank);
    return uncertainty && arrival.last_ns - start_ns > *uncertainty;
  }

  void find(std::size_t index) {
    LateArrival& arrival = arrivals_[index];
    const Match& match = match_of(arrival);
    if (std::ranges::none_of(match.members, [&](const MatchMember& member) {
          return is_resolved(arrival, member.rank, part_of(index, member).start_ns);
        }))
      return;
    const Mode mode = trace_.tag(match.members.front().slice).mode;
    if (match.is_message() && mode == Mode::pp)
      return blame(arrival, LateCause::pipeline, arrival.last_ns - arrival.first_ns);
    const Race race = race_of(index);
    const TimeParts late = times_.at(race.late).within(race.begin_ns, race.late_start_ns);
    const TimeParts peer = times_.at(race.peer).within(race.begin_ns, race.peer_start_ns);
    const std::array<std::pair<LateCause, std::int64_t>, 4> differences{{
        {LateCause::longer_kernels, late.compute_ns - peer.compute_ns},
        {LateCause::longer_communication, late.communication_ns - peer.communication_ns},
        {LateCause::longer_copies, late.copy_ns - peer.copy_ns},
        {LateCause::longer_idle, late.idle_ns - peer.idle_ns},
    }};
    const auto [cause, ns] = *std::ranges::max_element(differences, {}, [](const auto& part) { return part.second; });
    if (ns <= 0) return blame(arrival, LateCause::longer_wait, late.wait_ns - peer.wait_ns);
    blame(arrival, cause, ns);
    if (cause == LateCause::longer_kernels) compare_kernels(arrival, race);
    if (cause == LateCause::longer_idle && was_launched_late(match, race)) arrival.own_cause = LateCause::late_launch;
  }

  // The last member, and the median of the others to compare it with: the first of them if the median is not clearly
  // earlier.
  Race race_of(std::size_t index) const {
    const LateArrival& arrival = arrivals_[index];
    std::vector<std::pair<std::int64_t, std::int32_t>> others;
    for (const MatchMember& member : match_of(arrival).members)
      if (member.rank != arrival.last_rank) others.emplace_back(part_of(index, member).start_ns, member.rank);
    std::ranges::sort(others);
    auto peer = others[(others.size() - 1) / 2];
    if (!is_resolved(arrival, peer.second, peer.first)) peer = others.front();
    Race race{arrival.last_rank, peer.second, 0, arrival.last_ns, peer.first};
    race.begin_ns = std::min(last_meeting(index, race), race.peer_start_ns);
    return race;
  }

  bool takes_part(std::size_t arrival, std::int32_t rank) const {
    const Match& match = match_of(arrivals_[arrival]);
    if (match.is_message()) return match.members[0].rank == rank || match.members[1].rank == rank;
    const auto found = std::ranges::lower_bound(match.members, rank, {}, &MatchMember::rank);
    return found != match.members.end() && found->rank == rank;
  }

  // The end of the last collective before the race that both were in; else the first work of either.
  std::int64_t last_meeting(std::size_t index, const Race& race) const {
    const std::vector<Part>& parts = parts_.at(race.late);
    const std::int64_t both = std::min(race.late_start_ns, race.peer_start_ns);
    for (auto part = std::ranges::lower_bound(parts, both, {}, &Part::start_ns); part != parts.begin();) {
      --part;
      if (part->arrival != index && part->end_ns <= both && takes_part(part->arrival, race.peer)) return part->end_ns;
    }
    return std::min(first_work(race.late), first_work(race.peer));
  }

  std::int64_t first_work(std::int32_t rank) const {
    return communications_.common_ns(rank, trace_.start_ns()[work_.at(rank).front()]);
  }

  struct KernelKey {
    NameId name = kNoName;
    LaunchShape shape;
    friend bool operator==(const KernelKey&, const KernelKey&) = default;
  };
  struct KernelHash {
    std::size_t operator()(const KernelKey& key) const {
      std::size_t hash = static_cast<std::size_t>(key.name);
      for (const std::uint32_t value : key.shape.grid) hash = hash * 0x9E3779B97F4A7C15ULL + value;
      return hash;
    }
  };
  using Kernels = std::unordered_map<KernelKey, KernelTimes, KernelHash>;

  void add_kernels(Kernels& kernels, std::int32_t rank, std::int64_t begin, std::int64_t end, std::int64_t sign) const {
    const std::vector<std::uint32_t>& slices = work_.at(rank);
    const auto start = [&](std::uint32_t i) { return communications_.common_ns(rank, trace_.start_ns()[i]); };
    for (auto i = std::ranges::lower_bound(slices, begin, {}, start); i != slices.end() && start(*i) < end; ++i) {
      if (trace_.tag(*i).kind != Kind::compute) continue;
      KernelTimes& times = kernels[{trace_.name(*i), trace_.shape(*i)}];
      times.count += sign;
      times.ns += sign * trace_.duration_ns()[*i];
    }
  }

  void compare_kernels(LateArrival& arrival, const Race& race) const {
    Kernels kernels;
    add_kernels(kernels, race.late, race.begin_ns, race.late_start_ns, 1);
    add_kernels(kernels, race.peer, race.begin_ns, race.peer_start_ns, -1);
    std::int64_t longer = 0, more = 0, most = 0;
    for (const auto& [key, times] : kernels) {
      (times.count == 0 ? longer : more) += times.ns;
      const bool is_first = times.ns == most && most > 0 && name_of(key.name) < name_of(arrival.kernel);
      if (times.ns > most || is_first) most = times.ns, arrival.kernel = key.name;
    }
    if (more > longer) arrival.own_cause = LateCause::more_kernels;
  }

  bool was_launched_late(const Match& match, const Race& race) const {
    const auto member = std::ranges::find(match.members, race.late, &MatchMember::rank);
    const auto call = call_of_.find(member->slice);
    if (call == call_of_.end()) return false;
    return communications_.common_ns(race.late, trace_.end_ns(call->second)) > race.peer_start_ns;
  }

  const Trace& trace_;
  const Communications& communications_;
  const std::map<std::int32_t, RankTime>& times_;
  std::span<LateArrival> arrivals_;
  std::map<std::int32_t, std::vector<std::uint32_t>> work_;
  std::map<std::int32_t, std::vector<Part>> parts_;           ///< by start
  std::unordered_map<std::uint32_t, std::uint32_t> call_of_;  ///< of launched communications
};

}  // namespace

void find_late_causes(const Trace& trace, const Communications& communications,
                      const std::map<std::int32_t, RankTime>& times, std::span<LateArrival> arrivals) {
  CauseFinder(trace, communications, times, arrivals).run();
}

}  // namespace underlap::analysis
