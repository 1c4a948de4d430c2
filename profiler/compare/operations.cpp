// SPDX-License-Identifier: Apache-2.0
#include "profiler/compare/operations.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <tuple>
#include <utility>

#include "profiler/analysis/mode_name.hpp"
#include "profiler/trace/enum_names.hpp"

namespace underlap::compare {
namespace {

constexpr EnumNames<Match, 3> kMatchNames{{"both", "added", "removed"}};
constexpr std::array kMatches{Match::both, Match::added, Match::removed};

void name(OperationChange& change, const OperationKey& key) {
  change.kind = to_string(key.kind);
  if (key.kind == Kind::communication) change.mode = analysis::mode_name(key.mode);
  change.purpose = name_of(key.purpose);
  change.name = name_of(key.purpose != kNoName ? key.purpose : key.name);
  change.stream = name_of(key.stream);
}

void take_layer(OperationChange& change, std::int32_t layer) {
  if (layer < 0) return;
  change.first_layer = change.first_layer < 0 ? layer : std::min(change.first_layer, layer);
  change.last_layer = std::max(change.last_layer, layer);
}

using ByLayer = std::map<std::int32_t, std::array<OperationTimes, 3>>;

bool is_nothing(const OperationTimes& times) { return times == OperationTimes{}; }

OperationChange part_of(const ByLayer& layers, const LayerRange& range, Match match) {
  OperationChange part;
  part.match = match;
  for (auto one = layers.lower_bound(range.first); one != layers.end() && one->first <= range.last; ++one) {
    const OperationTimes& times = one->second[static_cast<std::size_t>(match)];
    if (is_nothing(times)) continue;
    part += times;
    take_layer(part, one->first);
  }
  return part;
}

// Layers with equal changes; work without a layer is separate.
std::vector<LayerRange> ranges_of(const ByLayer& layers) {
  std::vector<LayerChange> changes;
  for (const auto& [layer, by_match] : layers) {
    if (layer < 0) continue;
    changes.push_back({layer, 0});
    for (const OperationTimes& times : by_match) changes.back().delta_ns += times.step_delta_ns();
  }
  std::vector<LayerRange> ranges = alike_ranges(changes);
  if (layers.contains(-1)) ranges.push_back({-1, -1});
  return ranges;
}

void take(NetOperation& whole, const OperationChange& part) {
  whole.match = is_nothing(whole) ? part.match : Match::both;
  whole += part;
  take_layer(whole, part.first_layer);
  take_layer(whole, part.last_layer);
  if (part.match == Match::added) whole.added = part.to_count;
  if (part.match == Match::removed) whole.removed = part.from_count;
}

template <class Change>
void sort_by_size(std::vector<Change>& changes) {
  std::ranges::stable_sort(changes, std::ranges::greater(),
                           [](const Change& change) { return std::abs(change.step_delta_ns()); });
}

constexpr std::int64_t kNegligible = 100;  // parts of the largest
constexpr std::int64_t kMostApart = 2;
constexpr std::size_t kFewRanges = 3;

// The changes of one range so far.
class Alike {
 public:
  Alike(std::int64_t delta_ns, std::int64_t largest_ns)
      : largest_ns_(largest_ns), is_negligible_(is_negligible(delta_ns)), least_(delta_ns), most_(delta_ns) {}

  // Whether it takes one more.
  bool take(std::int64_t delta_ns) {
    if (is_negligible(delta_ns) != is_negligible_) return false;
    const std::int64_t least = std::min(least_, delta_ns), most = std::max(most_, delta_ns);
    const bool is_of_one_sign = (least > 0) == (most > 0);
    const std::int64_t smaller = std::min(std::abs(least), std::abs(most));
    const std::int64_t larger = std::max(std::abs(least), std::abs(most));
    if (!is_negligible_ && (!is_of_one_sign || larger > kMostApart * smaller)) return false;
    least_ = least;
    most_ = most;
    return true;
  }

 private:
  bool is_negligible(std::int64_t delta_ns) const {
    return std::abs(delta_ns) < largest_ns_ / kNegligible || delta_ns == 0;
  }

  std::int64_t largest_ns_;
  bool is_negligible_;
  std::int64_t least_, most_;
};

}  // namespace

std::string_view to_string(Match match) { return kMatchNames[match]; }

void OperationTimes::add(const OwnedSlice& owned, bool is_to) {
  (is_to ? to_count : from_count) += owned.ends_here;
  (is_to ? to_busy_ns : from_busy_ns) += owned.busy_ns;
  (is_to ? to_step_ns : from_step_ns) += owned.own_ns;
}

OperationTimes& OperationTimes::operator+=(const OperationTimes& other) {
  from_count += other.from_count;
  to_count += other.to_count;
  from_busy_ns += other.from_busy_ns;
  to_busy_ns += other.to_busy_ns;
  from_step_ns += other.from_step_ns;
  to_step_ns += other.to_step_ns;
  return *this;
}

std::size_t Operations::Hash::operator()(const OperationKey& key) const {
  std::size_t hash = static_cast<std::size_t>(key.kind) + 8 * static_cast<std::size_t>(key.mode);
  for (const NameId id : {key.name, key.purpose, key.stream})
    hash = (hash ^ static_cast<std::size_t>(id)) * 0x9E3779B97F4A7C15U;
  return hash ^ (hash >> 32);
}

void Operations::add(const OperationKey& key, std::int32_t layer, Match match, const OwnedSlice& owned, bool is_to) {
  operations_[key][std::max(layer, -1)][static_cast<std::size_t>(match)].add(owned, is_to);
}

void Operations::list(std::vector<OperationChange>& split, std::vector<NetOperation>& net) const {
  std::vector<const std::pair<const OperationKey, ByLayer>*> sorted;
  for (const auto& entry : operations_) sorted.push_back(&entry);
  // By text, because the order of ids depends on the order of the reader's threads.
  std::ranges::sort(sorted, {}, [](const auto* entry) {
    const OperationKey& key = entry->first;
    return std::tuple(key.kind, key.mode, name_of(key.purpose), name_of(key.name), name_of(key.stream));
  });
  for (const auto* entry : sorted) {
    const std::vector<LayerRange> ranges = ranges_of(entry->second);
    for (const LayerRange& range : ranges) {
      NetOperation whole;
      name(whole, entry->first);
      whole.is_of_some_layers = ranges.size() > 1 && range.first >= 0;
      for (const Match match : kMatches) {
        OperationChange part = part_of(entry->second, range, match);
        if (is_nothing(part)) continue;
        name(part, entry->first);
        take(whole, part);
        split.push_back(std::move(part));
      }
      net.push_back(std::move(whole));
    }
  }
  for (OperationChange* idle : {static_cast<OperationChange*>(&net.emplace_back()), &split.emplace_back()}) {
    idle->name = idle->kind = "idle";
    *idle += idle_;
  }
  sort_by_size(split);
  sort_by_size(net);
}

std::vector<StepSum> sums_by(const std::vector<OperationChange>& operations, std::string OperationChange::*what) {
  std::map<std::string, StepSum> sums;
  for (const OperationChange& operation : operations) {
    const std::string& name = (operation.*what).empty() ? operation.kind : operation.*what;
    StepSum& sum = sums[name];
    sum.name = name;
    sum.from_step_ns += operation.from_step_ns;
    sum.to_step_ns += operation.to_step_ns;
  }
  std::vector<StepSum> sorted;
  for (auto& [name, sum] : sums) sorted.push_back(std::move(sum));
  sort_by_size(sorted);
  return sorted;
}

std::vector<LayerRange> alike_ranges(std::span<const LayerChange> layers) {
  if (layers.empty()) return {};
  std::int64_t largest_ns = 0;
  for (const LayerChange& layer : layers) largest_ns = std::max(largest_ns, std::abs(layer.delta_ns));
  std::vector<LayerRange> ranges{{layers.front().layer, layers.front().layer}};
  Alike alike(layers.front().delta_ns, largest_ns);
  for (const LayerChange& layer : layers.subspan(1)) {
    if (!alike.take(layer.delta_ns)) {
      ranges.push_back({layer.layer, layer.layer});
      alike = Alike(layer.delta_ns, largest_ns);
    }
    ranges.back().last = layer.layer;
  }
  if (ranges.size() > std::max(kFewRanges, layers.size() / 4)) return {{layers.front().layer, layers.back().layer}};
  return ranges;
}

}  // namespace underlap::compare
