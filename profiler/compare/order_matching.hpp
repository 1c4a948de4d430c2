// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "profiler/compare/operations.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::compare {

/// The name of a stream, or its number where it has none.
NameId stream_of(const Track& track);

/// What slices of one trace have on the other side.
struct Counterparts {
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  std::vector<std::size_t> slice;  ///< by slice: the matching slice of the other trace, or kNone
  std::vector<NameId> stream;      ///< by slice: its stream, by the candidate's name
};

struct OrderMatches {
  Counterparts from;
  Counterparts to;
};

/// The windows of both sides of one rank, shared out; as many on either.
struct SharedRank {
  std::vector<OwnedWindow> from;
  std::vector<OwnedWindow> to;
};

/// Matches the work of each rank's windows by name, launch shape and order.
///
/// Each window's work is cut in lanes: communication by mode, purpose (else collective) and communicator, everything
/// else by stream. So work that overlaps other work differently keeps its place. A lane has its counterpart in the
/// other side's lane that holds most of the same, whatever its stream's number. In two such lanes a longest common
/// subsequence of each window is matched, then what is left of neighboring windows: the end of a step moves work from
/// one to the next.
/// Fails when a kernel was renamed: it then counts as removed and added. Two lanes with the same work may be swapped.
OrderMatches match_in_order(const Trace& from, const Trace& to, std::span<const SharedRank> ranks);

/// Places (in `a`, in `b`) of a longest common subsequence, in order. Where the two differ so much that finding a
/// longest one would take longer than some hundred million steps, a long one.
/// Source: Myers 1986, An O(ND) difference algorithm and its variations, section 4b.
std::vector<std::pair<std::size_t, std::size_t>> common_subsequence(std::span<const std::uint32_t> a,
                                                                    std::span<const std::uint32_t> b);

}  // namespace underlap::compare
