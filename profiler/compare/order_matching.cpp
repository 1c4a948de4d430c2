// SPDX-License-Identifier: Apache-2.0
#include "profiler/compare/order_matching.hpp"

#include <algorithm>
#include <tuple>

namespace underlap::compare {
namespace {

constexpr std::uint32_t kNoGroup = ~std::uint32_t{0};

/// One lane of work of a rank.
struct LaneKey {
  bool is_communication = false;
  Mode mode = Mode::none;
  NameId what = kNoName;                  // of communication its purpose or collective, where that is known
  NameId stream = kNoName;                // of everything else
  std::uint32_t communicator = kNoGroup;  // index into the trace's groups

  friend auto operator<=>(const LaneKey&, const LaneKey&) = default;
};

struct Lane {
  LaneKey key;
  NameId stream = kNoName;                          // that its first work runs on
  std::vector<std::vector<std::size_t>> by_window;  // slices, each in the first window that has a part of it
  std::map<std::pair<NameId, std::int64_t>, std::int64_t> content;  // how many of a name, of a message's size
};

bool is_communication(const Trace& trace, std::size_t slice) { return trace.tag(slice).kind == Kind::communication; }

NameId what_of(const Trace& trace, std::size_t slice) {
  if (const NameId purpose = trace.tag(slice).purpose; purpose != kNoName) return purpose;
  const CommunicationRecord* record = trace.communication(slice);
  if (record == nullptr || record->transfers.empty()) return kNoName;
  return intern(to_string(record->transfers.front().collective));
}

// Names of communication kernels depend on the library's release and choices, so the purpose is a better key.
NameId symbol_name(const Trace& trace, std::size_t slice) {
  const NameId what = is_communication(trace, slice) ? what_of(trace, slice) : kNoName;
  return what == kNoName ? trace.name(slice) : what;
}

// In the order of their first work. `streams`: by slice.
std::vector<Lane> lanes_of(const Trace& trace, const std::vector<NameId>& streams,
                           const std::vector<OwnedWindow>& windows) {
  std::vector<Lane> lanes;
  std::map<LaneKey, std::size_t> index;
  for (std::size_t w = 0; w < windows.size(); ++w)
    for (const OwnedSlice& owned : windows[w].slices) {
      if (owned.began_before) continue;
      const std::size_t slice = owned.slice;
      LaneKey key{.is_communication = is_communication(trace, slice)};
      std::int64_t bytes = 0;
      if (key.is_communication) {
        const CommunicationRecord* record = trace.communication(slice);
        key.mode = trace.tag(slice).mode;
        key.what = what_of(trace, slice);
        if (record != nullptr) key.communicator = record->group;
        if (record != nullptr && !record->transfers.empty()) bytes = record->transfers.front().bytes;
      }
      if (key.what == kNoName) key.stream = streams[slice];
      const auto [found, is_new] = index.try_emplace(key, lanes.size());
      if (is_new) lanes.push_back({key, streams[slice], std::vector<std::vector<std::size_t>>(windows.size()), {}});
      Lane& lane = lanes[found->second];
      lane.by_window[w].push_back(slice);
      ++lane.content[{symbol_name(trace, slice), bytes}];
    }
  return lanes;
}

std::int64_t in_common(const Lane& one, const Lane& other) {
  std::int64_t common = 0;
  for (const auto& [what, count] : one.content)
    if (const auto found = other.content.find(what); found != other.content.end())
      common += std::min(count, found->second);
  return common;
}

/// How well two lanes go together; the better is the greater.
struct Fit {
  bool is_of_one_mode = false;
  std::int64_t common = 0;
  bool is_of_one_name = false;  // the streams', or the communicators'
  std::int64_t near = 0;        // places in the order of lanes apart, below 0

  friend auto operator<=>(const Fit&, const Fit&) = default;
};

bool is_one_communicator(const Trace& from, std::uint32_t one, const Trace& to, std::uint32_t other) {
  if (one >= from.groups.size() || other >= to.groups.size()) return one == other;
  return from.groups[one] == to.groups[other];
}

// How well they go together apart from their places; nullopt where they cannot be one lane.
std::optional<Fit> fit_of(const Trace& from, const Lane& one, const Trace& to, const Lane& other) {
  const LaneKey &a = one.key, &b = other.key;
  if (a.is_communication != b.is_communication) return std::nullopt;
  Fit fit{.is_of_one_mode = a.mode == b.mode, .common = in_common(one, other)};
  // One side may know a mode that the other side does not.
  const bool could_be_one = a.what == b.what && (fit.is_of_one_mode || a.mode == Mode::none || b.mode == Mode::none);
  if (!could_be_one || (a.what == kNoName && fit.common == 0)) return std::nullopt;
  fit.is_of_one_name = a.stream == b.stream && is_one_communicator(from, a.communicator, to, b.communicator);
  return fit;
}

std::vector<std::pair<std::size_t, std::size_t>> pair_lanes(const Trace& from, const std::vector<Lane>& of_from,
                                                            const Trace& to, const std::vector<Lane>& of_to) {
  struct Candidate {
    Fit fit;
    std::size_t from, to;
  };
  std::vector<Candidate> candidates;
  for (std::size_t i = 0; i < of_from.size(); ++i)
    for (std::size_t j = 0; j < of_to.size(); ++j)
      if (auto fit = fit_of(from, of_from[i], to, of_to[j])) {
        fit->near = -static_cast<std::int64_t>(std::max(i, j) - std::min(i, j));
        candidates.push_back({*fit, i, j});
      }
  std::ranges::stable_sort(candidates, std::ranges::greater(), &Candidate::fit);
  std::vector<bool> from_taken(of_from.size()), to_taken(of_to.size());
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (const Candidate& candidate : candidates) {
    if (from_taken[candidate.from] || to_taken[candidate.to]) continue;
    from_taken[candidate.from] = to_taken[candidate.to] = true;
    pairs.emplace_back(candidate.from, candidate.to);
  }
  return pairs;
}

/// Kernels of one name and launch shape are one symbol; communication of one purpose is.
class Symbols {
 public:
  std::uint32_t of(const Trace& trace, std::size_t slice) {
    const NameId name = symbol_name(trace, slice);
    const LaunchShape shape =
        is_communication(trace, slice) && name != trace.name(slice) ? LaunchShape{} : trace.shape(slice);
    return symbols_.try_emplace({name, shape.grid, shape.block}, static_cast<std::uint32_t>(symbols_.size()))
        .first->second;
  }

 private:
  using Key = std::tuple<NameId, std::array<std::uint32_t, 3>, std::array<std::uint32_t, 3>>;
  std::map<Key, std::uint32_t> symbols_;
};

/// What of a lane's window is still to be matched.
struct Left {
  std::vector<std::size_t> slices;
  std::vector<std::uint32_t> symbols;

  template <class Keeps>
  Left only(Keeps keeps) const {
    Left kept;
    for (std::size_t i = 0; i < slices.size(); ++i)
      if (keeps(i)) {
        kept.slices.push_back(slices[i]);
        kept.symbols.push_back(symbols[i]);
      }
    return kept;
  }
};

class PairMatcher {
 public:
  PairMatcher(const Trace& from, const Trace& to, OrderMatches& matches) : from_(from), to_(to), matches_(matches) {}

  void match(const Lane& from, const Lane& to) {
    std::vector<Left> left_from = left_of(from_, from), left_to = left_of(to_, to);
    const std::size_t windows = left_from.size();
    for (std::size_t w = 0; w < windows; ++w) match(left_from[w], left_to[w]);
    for (std::size_t w = 0; w + 1 < windows; ++w) {
      match(left_from[w], left_to[w + 1]);
      match(left_from[w + 1], left_to[w]);
    }
  }

 private:
  std::vector<Left> left_of(const Trace& trace, const Lane& lane) {
    std::vector<Left> left;
    for (const std::vector<std::size_t>& slices : lane.by_window) {
      Left& of_window = left.emplace_back();
      of_window.slices = slices;
      for (const std::size_t slice : slices) of_window.symbols.push_back(symbols_.of(trace, slice));
    }
    return left;
  }

  // Without what the other side has nowhere, which can be in no common subsequence.
  static Left shared(const Left& one, const Left& other) {
    std::vector<std::uint32_t> known = other.symbols;
    std::ranges::sort(known);
    return one.only([&](std::size_t i) { return std::ranges::binary_search(known, one.symbols[i]); });
  }

  static void drop_matched(Left& left, const Counterparts& counterparts) {
    left = left.only([&](std::size_t i) { return counterparts.slice[left.slices[i]] == Counterparts::kNone; });
  }

  void match(Left& from, Left& to) {
    if (from.slices.empty() || to.slices.empty()) return;
    const Left a = shared(from, to), b = shared(to, from);
    for (const auto& [i, j] : common_subsequence(a.symbols, b.symbols)) {
      matches_.from.slice[a.slices[i]] = b.slices[j];
      matches_.to.slice[b.slices[j]] = a.slices[i];
      matches_.from.stream[a.slices[i]] = matches_.to.stream[b.slices[j]];
    }
    drop_matched(from, matches_.from);
    drop_matched(to, matches_.to);
  }

  const Trace& from_;
  const Trace& to_;
  Symbols symbols_;
  OrderMatches& matches_;
};

Counterparts on_own_streams(const Trace& trace) {
  std::vector<NameId> streams;
  for (const Track& track : trace.tracks) streams.push_back(stream_of(track));
  Counterparts counterparts{std::vector<std::size_t>(trace.size(), Counterparts::kNone), {}};
  for (std::size_t i = 0; i < trace.size(); ++i) counterparts.stream.push_back(streams[trace.track(i)]);
  return counterparts;
}

}  // namespace

NameId stream_of(const Track& track) { return intern(track.name.empty() ? std::to_string(track.stream) : track.name); }

OrderMatches match_in_order(const Trace& from, const Trace& to, std::span<const SharedRank> ranks) {
  OrderMatches matches{on_own_streams(from), on_own_streams(to)};
  for (const SharedRank& rank : ranks) {
    const std::vector<Lane> of_from = lanes_of(from, matches.from.stream, rank.from);
    const std::vector<Lane> of_to = lanes_of(to, matches.to.stream, rank.to);
    PairMatcher matcher(from, to, matches);
    for (const auto& [i, j] : pair_lanes(from, of_from, to, of_to)) {
      // Slices without a counterpart are listed on the same stream as the rest of their lane.
      for (const std::vector<std::size_t>& slices : of_from[i].by_window)
        for (const std::size_t slice : slices) matches.from.stream[slice] = of_to[j].stream;
      matcher.match(of_from[i], of_to[j]);
    }
  }
  return matches;
}

}  // namespace underlap::compare
