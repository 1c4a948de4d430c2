// SPDX-License-Identifier: Apache-2.0
#include "profiler/compare/window_pairs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "platform/text/list.hpp"

namespace underlap::compare {
namespace {

constexpr std::size_t kMostUnpaired = 5;

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

}  // namespace

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

}  // namespace underlap::compare
