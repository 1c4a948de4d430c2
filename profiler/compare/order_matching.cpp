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

std::vector<NameId> streams_of(const Trace& trace) {
  std::vector<NameId> names;
  for (const Track& track : trace.tracks) names.push_back(stream_of(track));
  return names;
}

class Lanes {
 public:
  Lanes(const Trace& trace, const std::vector<NameId>& streams, const std::vector<OwnedWindow>& windows)
      : trace_(trace), streams_(streams) {
    for (std::size_t w = 0; w < windows.size(); ++w)
      for (const OwnedSlice& owned : windows[w].slices)
        if (!owned.began_before) lane_of(owned.slice, windows.size()).by_window[w].push_back(owned.slice);
  }

  std::vector<Lane>& all() { return lanes_; }

 private:
  Lane& lane_of(std::size_t slice, std::size_t num_windows) {
    const NameId stream = streams_[trace_.track(slice)];
    LaneKey key{.is_communication = is_communication(trace_, slice)};
    std::int64_t bytes = 0;
    if (key.is_communication) {
      const CommunicationRecord* record = trace_.communication(slice);
      key.mode = trace_.tag(slice).mode;
      key.what = what_of(trace_, slice);
      if (record != nullptr) key.communicator = record->group;
      if (record != nullptr && !record->transfers.empty()) bytes = record->transfers.front().bytes;
    }
    if (key.what == kNoName) key.stream = stream;
    const auto [found, is_new] = index_.try_emplace(key, lanes_.size());
    if (is_new) lanes_.push_back({key, stream, std::vector<std::vector<std::size_t>>(num_windows), {}});
    Lane& lane = lanes_[found->second];
    ++lane.content[{symbol_name(trace_, slice), bytes}];
    return lane;
  }

  const Trace& trace_;
  const std::vector<NameId>& streams_;
  std::vector<Lane> lanes_;  // in the order of their first work
  std::map<LaneKey, std::size_t> index_;
};

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

class LanePairs {
 public:
  LanePairs(const Trace& from, const Trace& to, const std::vector<Lane>& of_from, const std::vector<Lane>& of_to) {
    for (std::size_t i = 0; i < of_from.size(); ++i)
      for (std::size_t j = 0; j < of_to.size(); ++j) consider(from, to, {of_from[i], i}, {of_to[j], j});
    std::ranges::stable_sort(candidates_, std::ranges::greater(), [](const Candidate& one) { return one.fit; });
    std::vector<bool> from_taken(of_from.size()), to_taken(of_to.size());
    for (const Candidate& candidate : candidates_) {
      if (from_taken[candidate.from] || to_taken[candidate.to]) continue;
      from_taken[candidate.from] = to_taken[candidate.to] = true;
      pairs_.emplace_back(candidate.from, candidate.to);
    }
  }

  const std::vector<std::pair<std::size_t, std::size_t>>& all() const { return pairs_; }

 private:
  struct Placed {
    const Lane& lane;
    std::size_t place;
  };
  struct Candidate {
    Fit fit;
    std::size_t from, to;
  };

  void consider(const Trace& from, const Trace& to, Placed one, Placed other) {
    const LaneKey &a = one.lane.key, &b = other.lane.key;
    if (a.is_communication != b.is_communication) return;
    Fit fit{.is_of_one_mode = a.mode == b.mode, .common = in_common(one.lane, other.lane)};
    // One side may know a mode that the other side does not.
    const bool could_be_one = a.what == b.what && (fit.is_of_one_mode || a.mode == Mode::none || b.mode == Mode::none);
    if (!could_be_one || (a.what == kNoName && fit.common == 0)) return;
    fit.is_of_one_name = a.stream == b.stream && is_one_communicator(from, a.communicator, to, b.communicator);
    const auto i = static_cast<std::int64_t>(one.place), j = static_cast<std::int64_t>(other.place);
    fit.near = -std::max(i - j, j - i);
    candidates_.push_back({fit, one.place, other.place});
  }

  std::vector<Candidate> candidates_;
  std::vector<std::pair<std::size_t, std::size_t>> pairs_;
};

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
};

class PairMatcher {
 public:
  PairMatcher(const Trace& from, const Trace& to, Symbols& symbols, OrderMatches& matches)
      : from_(from), to_(to), symbols_(symbols), matches_(matches) {}

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
    Left kept;
    for (std::size_t i = 0; i < one.slices.size(); ++i)
      if (std::ranges::binary_search(known, one.symbols[i])) {
        kept.slices.push_back(one.slices[i]);
        kept.symbols.push_back(one.symbols[i]);
      }
    return kept;
  }

  static void drop_matched(Left& left, const Counterparts& counterparts) {
    Left kept;
    for (std::size_t i = 0; i < left.slices.size(); ++i)
      if (counterparts.slice[left.slices[i]] == Counterparts::kNone) {
        kept.slices.push_back(left.slices[i]);
        kept.symbols.push_back(left.symbols[i]);
      }
    left = std::move(kept);
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
  Symbols& symbols_;
  OrderMatches& matches_;
};

void are_on_own_streams(const Trace& trace, const std::vector<NameId>& streams, Counterparts& counterparts) {
  counterparts.slice.assign(trace.size(), Counterparts::kNone);
  counterparts.stream.resize(trace.size());
  for (std::size_t i = 0; i < trace.size(); ++i) counterparts.stream[i] = streams[trace.track(i)];
}

}  // namespace

NameId stream_of(const Track& track) { return intern(track.name.empty() ? std::to_string(track.stream) : track.name); }

OrderMatching::OrderMatching(const Trace& from, const Trace& to)
    : from_(from), to_(to), from_streams_(streams_of(from)), to_streams_(streams_of(to)) {
  are_on_own_streams(from, from_streams_, matches_.from);
  are_on_own_streams(to, to_streams_, matches_.to);
}

void OrderMatching::add_rank(const std::vector<OwnedWindow>& from, const std::vector<OwnedWindow>& to) {
  Lanes of_from(from_, from_streams_, from), of_to(to_, to_streams_, to);
  Symbols symbols;
  PairMatcher matcher(from_, to_, symbols, matches_);
  const LanePairs pairs(from_, to_, of_from.all(), of_to.all());
  for (const auto& [i, j] : pairs.all()) {
    const Lane &one = of_from.all()[i], &other = of_to.all()[j];
    // Slices without a counterpart are listed on the same stream as the rest of their lane.
    for (const std::vector<std::size_t>& slices : one.by_window)
      for (const std::size_t slice : slices) matches_.from.stream[slice] = other.stream;
    matcher.match(one, other);
  }
}

}  // namespace underlap::compare
