// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/steps/step_ranges.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "platform/numbers/median.hpp"

namespace underlap::analysis {
namespace {

constexpr double kAlike = 0.9;           ///< part of their names that two repeats must share
constexpr double kEven = 0.3;            ///< largest difference of repeats in length, as a part of the median
constexpr double kCovered = 0.5;         ///< part of all names that repeats must cover
constexpr std::size_t kShortest = 3;     ///< names of a repeat, at least: two alternating names are not a step
constexpr std::size_t kMostTried = 100;  ///< first names of a repeat to try

using Counts = std::unordered_map<NameId, std::int64_t>;

Counts counts_of(std::span<const NameId> names) {
  Counts counts;
  for (const NameId name : names) ++counts[name];
  return counts;
}

// Part of the names of the larger of two pieces that both have.
double similarity(const Counts& a, std::size_t size_a, std::span<const NameId> b) {
  if (size_a == 0 || b.empty()) return 0;
  std::int64_t common = 0;
  for (const auto& [name, count] : counts_of(b))
    if (const auto found = a.find(name); found != a.end()) common += std::min(count, found->second);
  return static_cast<double>(common) / static_cast<double>(std::max(size_a, b.size()));
}

/// Where a sequence repeats itself.
struct Repetition {
  std::vector<std::size_t> begins;  ///< of each repeat, and the end of the last one
  bool is_first_cut = false;        ///< a part of a repeat precedes the first
  bool is_last_cut = false;         ///< and after the last
};

// The places of one name.
struct Anchor {
  std::vector<std::size_t> places;
  double pause_ns = 0;  ///< before all of them
};

bool is_even(const std::vector<std::size_t>& places, std::size_t shortest) {
  std::vector<std::size_t> lengths;
  for (std::size_t i = 1; i < places.size(); ++i) lengths.push_back(places[i] - places[i - 1]);
  const auto middle = static_cast<double>(upper_median(lengths));
  return middle >= static_cast<double>(shortest) && std::ranges::all_of(lengths, [&](std::size_t length) {
           return std::abs(static_cast<double>(length) - middle) <= kEven * middle;
         });
}

std::optional<Repetition> repetition_at(std::span<const NameId> names, const std::vector<std::size_t>& places) {
  const auto piece = [&](std::size_t begin, std::size_t end) { return names.subspan(begin, end - begin); };
  const std::span<const NameId> first = piece(places[0], places[1]);
  const Counts counts = counts_of(first);
  for (std::size_t i = 2; i < places.size(); ++i)
    if (similarity(counts, first.size(), piece(places[i - 1], places[i])) < kAlike) return std::nullopt;
  Repetition found{.begins = places};
  const std::span<const NameId> rest = names.subspan(places.back());
  if (similarity(counts, first.size(), rest) >= kAlike)
    found.begins.push_back(names.size());
  else
    found.is_last_cut = true;
  found.is_first_cut = places.front() > 0;
  const std::size_t covered = found.begins.back() - found.begins.front();
  if (found.begins.size() < 3 || static_cast<double>(covered) < kCovered * static_cast<double>(names.size()))
    return std::nullopt;
  return found;
}

// Finds the shortest piece of at least `shortest` names that `names` repeats at least twice, allowing each repeat some
// names of its own.
//
// A repeat starts at a name that occurs once in each. Each repeat shares nine of ten names with the first one, counted
// with their multiplicity. Repeats cover at least half of all names. Of several possible first names, the one with the
// longest mean pause before it is taken; `pause_ns` has the pause before each name. Incomplete repeats at either end
// are left out. nullopt if nothing repeats. Takes time in proportion to the names. Fails when nothing between steps
// breaks the rhythm of the layers: the repeats are then layers.
std::optional<Repetition> find_repetition(std::span<const NameId> names, std::span<const double> pause_ns,
                                          std::size_t shortest) {
  std::unordered_map<NameId, Anchor> by_name;
  for (std::size_t i = 0; i < names.size(); ++i) {
    Anchor& anchor = by_name[names[i]];
    anchor.places.push_back(i);
    if (i > 0) anchor.pause_ns += pause_ns[i];
  }
  std::vector<Anchor> anchors;
  for (auto& [name, anchor] : by_name)
    if (anchor.places.size() >= 2 && is_even(anchor.places, shortest)) anchors.push_back(std::move(anchor));
  std::ranges::sort(anchors, [](const Anchor& a, const Anchor& b) {
    return std::tuple(b.places.size(), b.pause_ns, a.places.front()) <
           std::tuple(a.places.size(), a.pause_ns, b.places.front());
  });
  if (anchors.size() > kMostTried) anchors.resize(kMostTried);
  std::optional<Repetition> best;
  std::size_t most_places = 0;
  double longest_pause = 0;
  for (const Anchor& anchor : anchors) {
    // Fewer than one less: a piece that holds several repeats.
    if (best && anchor.places.size() + 1 < most_places) break;
    const double pause = anchor.pause_ns / static_cast<double>(anchor.places.size());
    if (best && pause <= longest_pause) continue;
    auto found = repetition_at(names, anchor.places);
    if (!found) continue;
    if (!best) most_places = anchor.places.size();
    best = std::move(found);
    longest_pause = pause;
  }
  return best;
}

}  // namespace

RankSteps steps_of_repetition(const Trace& trace, const RankSlices& rank) {
  RankSteps steps{.rank = rank.rank};
  std::map<std::uint32_t, std::vector<std::size_t>> streams;
  for (const std::size_t slice : rank.work)
    if (trace.tag(slice).kind != Kind::copy) streams[trace.track(slice)].push_back(slice);
  const auto busiest = std::ranges::max_element(streams, {}, [](const auto& stream) { return stream.second.size(); });
  if (busiest == streams.end()) return steps;
  const std::vector<std::size_t>& kernels = busiest->second;
  std::vector<NameId> names;
  std::vector<double> pauses;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    names.push_back(trace.name(kernels[i]));
    pauses.push_back(i == 0 ? 0
                            : static_cast<double>(trace.start_ns()[kernels[i]]) -
                                  static_cast<double>(trace.end_ns(kernels[i - 1])));
  }
  // A loop of one kernel on each of several streams, such as a GEMM and an all-reduce, at least three times.
  const bool is_loop = streams.size() > 1 && std::ranges::all_of(streams, [&](const auto& stream) {
                         return std::ranges::all_of(stream.second, [&](std::size_t i) {
                           return trace.name(i) == trace.name(stream.second.front());
                         });
                       });
  const auto found = find_repetition(names, pauses, is_loop ? 1 : kShortest);
  if (!found || (is_loop && found->begins.size() < 4)) return steps;
  steps.source = StepSource::repetition;
  steps.is_first_cut = found->is_first_cut;
  steps.is_last_cut = found->is_last_cut;
  const std::size_t first = found->begins.front();
  std::int64_t begin = first == 0 ? trace.start_ns()[kernels[0]] : trace.end_ns(kernels[first - 1]);
  for (std::size_t i = 1; i < found->begins.size(); ++i) {
    const std::int64_t end = std::max(begin, trace.end_ns(kernels[found->begins[i] - 1]));
    steps.windows.push_back({rank.rank, 0, static_cast<std::int32_t>(i - 1), begin, end});
    begin = end;
  }
  return steps;
}

}  // namespace underlap::analysis
