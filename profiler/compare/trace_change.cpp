// SPDX-License-Identifier: Apache-2.0
#include "profiler/compare/trace_change.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <stdexcept>

#include "platform/text/list.hpp"
#include "profiler/compare/order_matching.hpp"

namespace underlap::compare {
namespace {

using analysis::Window;

constexpr double kMostAreTagged = 0.5;

// Whether compute has purposes. In foreign traces only communication has them.
bool has_tags(const Trace& trace) {
  std::size_t compute = 0, tagged = 0;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    if (trace.tag(i).kind != Kind::compute) continue;
    ++compute;
    tagged += trace.tag(i).purpose != kNoName;
  }
  return compute > 0 && static_cast<double>(tagged) > kMostAreTagged * static_cast<double>(compute);
}

/// Identifies an operation by its tag, on any rank and in any step.
struct TagKey {
  Tag tag;      // without its step
  NameId name;  // where it has no purpose

  friend bool operator==(const TagKey&, const TagKey&) = default;
};

struct TagHash {
  std::size_t operator()(const TagKey& key) const {
    std::size_t hash = static_cast<std::size_t>(key.tag.kind) + 8 * static_cast<std::size_t>(key.tag.mode) +
                       64 * static_cast<std::size_t>(key.tag.direction);
    for (const auto part :
         {static_cast<std::int64_t>(key.tag.purpose), static_cast<std::int64_t>(key.name), std::int64_t{key.tag.layer},
          std::int64_t{key.tag.microbatch}, std::int64_t{key.tag.bucket}, std::int64_t{key.tag.chunk}})
      hash = (hash ^ static_cast<std::size_t>(part)) * 0x9E3779B97F4A7C15U;
    return hash ^ (hash >> 32);
  }
};

TagKey key_of(const Trace& trace, std::size_t slice) {
  TagKey key{trace.tag(slice), kNoName};
  key.tag.step = -1;
  if (key.tag.purpose == kNoName) key.name = trace.name(slice);
  return key;
}

/// The tags of both sides. An operation is listed on the candidate's stream. A removed operation is listed on the
/// candidate's stream that has most of the other operations of its old stream.
class TagsOfSides {
 public:
  void add(const TagKey& key, NameId stream, bool is_to) {
    Seen& seen = seen_[key];
    NameId& first = is_to ? seen.to_stream : seen.from_stream;
    if (first == kNoName) first = stream;
  }

  void pair_streams() {
    std::map<NameId, std::map<NameId, std::int64_t>> votes;
    for (const auto& [key, seen] : seen_)
      if (seen.match() == Match::both) ++votes[seen.from_stream][seen.to_stream];
    for (const auto& [stream, others] : votes)
      candidates_stream_[stream] =
          std::ranges::max_element(others, {}, [](const auto& other) { return other.second; })->first;
  }

  std::pair<Match, NameId> find(const TagKey& key) const {
    const Seen& seen = seen_.at(key);
    if (seen.to_stream != kNoName) return {seen.match(), seen.to_stream};
    const auto other = candidates_stream_.find(seen.from_stream);
    return {seen.match(), other == candidates_stream_.end() ? seen.from_stream : other->second};
  }

 private:
  struct Seen {
    NameId from_stream = kNoName, to_stream = kNoName;  // the first on either side; kNoName: not there
    Match match() const {
      return from_stream == kNoName ? Match::added : to_stream == kNoName ? Match::removed : Match::both;
    }
  };
  std::unordered_map<TagKey, Seen, TagHash> seen_;
  std::map<NameId, NameId> candidates_stream_;
};

constexpr std::size_t kMostUnpaired = 5;

/// The steps of one rank that are compared, by side, in their order.
struct RankPair {
  const analysis::RankSummary* from = nullptr;
  const analysis::RankSummary* to = nullptr;
  std::vector<std::pair<std::size_t, std::size_t>> windows{};  ///< places in the windows of either
};

struct WindowPairs {
  std::vector<RankPair> ranks;
  std::vector<std::string> left_out;  ///< a sentence for each thing that has no counterpart
};

using Ranks = std::map<std::int32_t, const analysis::RankSummary*>;

Ranks ranks_of(const analysis::Summary& summary) {
  Ranks ranks;
  for (const analysis::RankSummary& rank : summary.shown())
    if (!rank.windows.empty()) ranks[rank.rank] = &rank;
  return ranks;
}

void say_unpaired(const Ranks& ranks, const Ranks& others, const char* side, std::vector<std::string>& left_out) {
  const auto alone = std::ranges::count_if(ranks, [&](const auto& rank) { return !others.contains(rank.first); });
  if (alone > 0)
    left_out.push_back(fmt::format("{} of {} ranks of the {} have no counterpart", alone, ranks.size(), side));
}

using Step = std::pair<std::int32_t, std::int32_t>;  // block and number

std::map<Step, std::size_t> places_of(const analysis::RankSummary& rank) {
  std::map<Step, std::size_t> places;
  for (std::size_t i = 0; i < rank.windows.size(); ++i) places[{rank.windows[i].block, rank.windows[i].step}] = i;
  return places;
}

void say_unpaired(const std::map<Step, std::size_t>& steps, const std::map<Step, std::size_t>& others,
                  std::int32_t rank, const char* side, std::vector<std::string>& left_out) {
  std::vector<std::string> alone;
  for (const auto& [step, place] : steps)
    if (!others.contains(step)) alone.push_back(fmt::format("{} of block {}", step.second, step.first));
  if (alone.empty()) return;
  left_out.push_back(fmt::format("{} of {} steps of rank {} of the {} {} no counterpart: {}", alone.size(),
                                 steps.size(), rank, side, alone.size() == 1 ? "has" : "have",
                                 short_list(alone, kMostUnpaired)));
}

// False where no number is on both sides.
bool pair_by_number(RankPair& pair, std::vector<std::string>& left_out) {
  const std::map<Step, std::size_t> from = places_of(*pair.from), to = places_of(*pair.to);
  for (const auto& [step, place] : from)
    if (const auto other = to.find(step); other != to.end()) pair.windows.emplace_back(place, other->second);
  if (pair.windows.empty()) {
    left_out.push_back(
        fmt::format("no step of rank {} has the same block and number on both sides: steps are compared in order",
                    pair.from->rank));
    return false;
  }
  say_unpaired(from, to, pair.from->rank, "baseline", left_out);
  say_unpaired(to, from, pair.to->rank, "candidate", left_out);
  return true;
}

void pair_in_order(RankPair& pair, std::vector<std::string>& left_out) {
  const std::size_t from = pair.from->windows.size(), to = pair.to->windows.size();
  for (std::size_t i = 0; i < std::min(from, to); ++i) pair.windows.emplace_back(i, i);
  if (from == to) return;
  const bool is_from = from > to;
  left_out.push_back(fmt::format("the last {} of {} steps of rank {} of the {} have no counterpart",
                                 is_from ? from - to : to - from, is_from ? from : to,
                                 is_from ? pair.from->rank : pair.to->rank, is_from ? "baseline" : "candidate"));
}

// Step numbers of a profiler, and our own numbers of repetitions, do not match those of another trace.
bool has_numbers(const analysis::Summary& summary) { return summary.has_steps && summary.steps_of_ranks.empty(); }

// Ranks by their numbers, or, where no number is on both sides, in their order. Of each the steps by block and number,
// where both sides have marks that say these; else, or where they have none in common, as many as both have in their
// order. Order fails when the recordings start at different steps: those are then compared with each other.
WindowPairs pair_windows(const analysis::Summary& from, const analysis::Summary& to) {
  const Ranks baseline = ranks_of(from), candidate = ranks_of(to);
  const bool are_numbered = has_numbers(from) && has_numbers(to);
  WindowPairs pairs;
  const auto add = [&](const analysis::RankSummary* one, const analysis::RankSummary* other) {
    RankPair& pair = pairs.ranks.emplace_back(RankPair{one, other});
    if (!are_numbered || !pair_by_number(pair, pairs.left_out)) pair_in_order(pair, pairs.left_out);
  };
  for (const auto& [rank, summary] : baseline)
    if (const auto other = candidate.find(rank); other != candidate.end()) add(summary, other->second);
  if (!pairs.ranks.empty()) {
    say_unpaired(baseline, candidate, "baseline", pairs.left_out);
    say_unpaired(candidate, baseline, "candidate", pairs.left_out);
    return pairs;
  }
  auto one = baseline.begin();
  auto other = candidate.begin();
  for (; one != baseline.end() && other != candidate.end(); ++one, ++other) {
    add(one->second, other->second);
    pairs.left_out.push_back(
        fmt::format("rank {} of the baseline is compared with rank {} of the candidate", one->first, other->first));
  }
  if (baseline.size() != candidate.size())
    pairs.left_out.push_back(
        fmt::format("the baseline has {} ranks, the candidate {}", baseline.size(), candidate.size()));
  return pairs;
}

class TraceComparison {
 public:
  TraceComparison(const Side& from, const Side& to) : from_(from), to_(to) {
    change_.is_matched_by_tags = has_tags(from.trace) && has_tags(to.trace);
  }

  TraceChange run() {
    WindowPairs pairs = pair_windows(from_.summary, to_.summary);
    change_.left_out = std::move(pairs.left_out);
    if (pairs.ranks.empty()) throw std::invalid_argument("no rank has a step in both traces");
    const auto work_from = analysis::work_by_rank(from_.trace), work_to = analysis::work_by_rank(to_.trace);
    std::vector<Window> all_from, all_to;
    std::vector<SharedRank> ranks;
    for (const RankPair& pair : pairs.ranks) {
      add_splits(pair);
      std::vector<Window> of_from, of_to;
      for (const auto& [one, other] : pair.windows) {
        of_from.push_back(pair.from->windows[one]);
        of_to.push_back(pair.to->windows[other]);
      }
      ranks.push_back({share(from_, work_from, pair.from->rank, of_from), share(to_, work_to, pair.to->rank, of_to)});
      all_from.insert(all_from.end(), of_from.begin(), of_from.end());
      all_to.insert(all_to.end(), of_to.begin(), of_to.end());
    }
    change_.compute = analysis::compute_change(analysis::compute_times(from_.trace, all_from),
                                               analysis::compute_times(to_.trace, all_to));
    if (change_.is_matched_by_tags)
      add_by_tags(ranks);
    else
      add_in_order(ranks);
    operations_.list(change_.operations, change_.net);
    return std::move(change_);
  }

 private:
  void add_splits(const RankPair& pair) {
    change_.windows += static_cast<std::int64_t>(pair.windows.size());
    for (const auto& [from, to] : pair.windows) {
      change_.from += pair.from->splits[from];
      change_.to += pair.to->splits[to];
    }
  }

  static std::vector<OwnedWindow> share(const Side& side,
                                        const std::map<std::int32_t, std::vector<std::uint32_t>>& work,
                                        std::int32_t rank, std::span<const Window> windows) {
    const auto found = work.find(rank);
    return share_out(side.trace, found == work.end() ? std::span<const std::uint32_t>() : found->second, windows);
  }

  static OperationKey operation_of(const Trace& trace, std::size_t slice, NameId stream) {
    const Tag& tag = trace.tag(slice);
    const NameId name = tag.purpose == kNoName ? trace.name(slice) : kNoName;
    return {tag.kind, tag.mode, name, tag.purpose, stream};
  }

  void add_by_tags(const std::vector<SharedRank>& ranks) {
    const auto each = [&](auto&& take) {
      for (const SharedRank& rank : ranks)
        for (const auto& [windows, is_to] : {std::pair{&rank.from, false}, std::pair{&rank.to, true}})
          for (const OwnedWindow& window : *windows) take(window, is_to);
    };
    TagsOfSides tags;
    each([&](const OwnedWindow& window, bool is_to) {
      const Trace& trace = is_to ? to_.trace : from_.trace;
      for (const OwnedSlice& owned : window.slices)
        tags.add(key_of(trace, owned.slice), stream_of(trace.track_of(owned.slice)), is_to);
    });
    tags.pair_streams();
    each([&](const OwnedWindow& window, bool is_to) {
      const Trace& trace = is_to ? to_.trace : from_.trace;
      operations_.add_idle(window.idle_ns, is_to);
      for (const OwnedSlice& owned : window.slices) {
        const auto [match, stream] = tags.find(key_of(trace, owned.slice));
        operations_.add(operation_of(trace, owned.slice, stream), trace.tag(owned.slice).layer, match, owned, is_to);
      }
    });
  }

  void add_in_order(const std::vector<SharedRank>& ranks) {
    const OrderMatches matches = match_in_order(from_.trace, to_.trace, ranks);
    for (const SharedRank& rank : ranks) {
      for (const OwnedWindow& window : rank.from) add_matched(window, matches.from, false);
      for (const OwnedWindow& window : rank.to) add_matched(window, matches.to, true);
    }
  }

  // What both sides have is what the candidate calls it.
  void add_matched(const OwnedWindow& window, const Counterparts& counterparts, bool is_to) {
    const Trace& trace = is_to ? to_.trace : from_.trace;
    operations_.add_idle(window.idle_ns, is_to);
    for (const OwnedSlice& owned : window.slices) {
      const std::size_t other = counterparts.slice[owned.slice];
      const bool is_alone = other == Counterparts::kNone;
      const Trace& source = is_alone ? trace : to_.trace;
      const std::size_t slice = is_alone || is_to ? owned.slice : other;
      const Match match = !is_alone ? Match::both : is_to ? Match::added : Match::removed;
      operations_.add(operation_of(source, slice, counterparts.stream[owned.slice]), source.tag(slice).layer, match,
                      owned, is_to);
    }
  }

  const Side& from_;
  const Side& to_;
  TraceChange change_;
  Operations operations_;
};

}  // namespace

TraceChange compare_traces(const Side& from, const Side& to) { return TraceComparison(from, to).run(); }

}  // namespace underlap::compare
