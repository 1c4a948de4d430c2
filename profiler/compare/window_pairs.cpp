// SPDX-License-Identifier: Apache-2.0
#include "profiler/compare/window_pairs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace underlap::compare {
namespace {

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

void say_steps(const RankPair& pair, std::vector<std::string>& left_out) {
  const std::size_t from = pair.from->windows.size(), to = pair.to->windows.size();
  if (from == to) return;
  const bool is_from = from > to;
  left_out.push_back(fmt::format("the last {} of {} steps of rank {} of the {} have no counterpart",
                                 is_from ? from - to : to - from, is_from ? from : to,
                                 is_from ? pair.from->rank : pair.to->rank, is_from ? "baseline" : "candidate"));
}

}  // namespace

WindowPairs pair_windows(const analysis::Summary& from, const analysis::Summary& to) {
  const Ranks baseline = ranks_of(from), candidate = ranks_of(to);
  WindowPairs pairs;
  const auto add = [&](const analysis::RankSummary* one, const analysis::RankSummary* other) {
    pairs.ranks.push_back({one, other, std::min(one->windows.size(), other->windows.size())});
    say_steps(pairs.ranks.back(), pairs.left_out);
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
        fmt::format("rank {} of the baseline is held against rank {} of the candidate", one->first, other->first));
  }
  if (baseline.size() != candidate.size())
    pairs.left_out.push_back(
        fmt::format("the baseline has {} ranks, the candidate {}", baseline.size(), candidate.size()));
  return pairs;
}

}  // namespace underlap::compare
