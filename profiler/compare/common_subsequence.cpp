// SPDX-License-Identifier: Apache-2.0
#include "profiler/compare/order_matching.hpp"

#include <algorithm>
#include <cstdlib>

namespace underlap::compare {
namespace {

using Index = std::int64_t;

constexpr Index kBudget = 200'000'000;
constexpr Index kFewestEdits = 256;
constexpr Index kMostEdits = 4500;

/// Where a box of the two sequences is cut in two.
struct Cut {
  Index a = 0;
  Index b = 0;
};

/// A box: elements of both sequences that are still to be matched.
struct Box {
  Index a_begin = 0, a_end = 0;
  Index b_begin = 0, b_end = 0;
};

class Matcher {
 public:
  Matcher(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b)
      : a_(a), b_(b), most_edits_(most_edits(static_cast<Index>(a.size() + b.size()))) {
    const auto diagonals = static_cast<std::size_t>(2 * most_edits_ + 3);
    forward_.resize(diagonals);
    backward_.resize(diagonals);
  }

  std::vector<std::pair<std::size_t, std::size_t>> run() {
    boxes_ = {{0, static_cast<Index>(a_.size()), 0, static_cast<Index>(b_.size())}};
    while (!boxes_.empty()) {
      const Box box = boxes_.back();
      boxes_.pop_back();
      match(box);
    }
    std::ranges::sort(pairs_);
    return std::move(pairs_);
  }

 private:
  // Half of all elements are as many edits as one search can need.
  static Index most_edits(Index elements) {
    return std::min(std::clamp(kBudget / (elements + 1), kFewestEdits, kMostEdits), elements / 2 + 1);
  }

  bool equal(Index a, Index b) const { return a_[static_cast<std::size_t>(a)] == b_[static_cast<std::size_t>(b)]; }
  void pair(Index a, Index b) { pairs_.emplace_back(static_cast<std::size_t>(a), static_cast<std::size_t>(b)); }

  // What both begin and end with belongs to some longest subsequence.
  void match(Box box) {
    for (; box.a_begin < box.a_end && box.b_begin < box.b_end && equal(box.a_begin, box.b_begin);
         ++box.a_begin, ++box.b_begin)
      pair(box.a_begin, box.b_begin);
    for (; box.a_begin < box.a_end && box.b_begin < box.b_end && equal(box.a_end - 1, box.b_end - 1);
         --box.a_end, --box.b_end)
      pair(box.a_end - 1, box.b_end - 1);
    if (box.a_begin == box.a_end || box.b_begin == box.b_end) return;
    const Cut cut = find_cut(box);
    boxes_.push_back({cut.a, box.a_end, cut.b, box.b_end});
    boxes_.push_back({box.a_begin, cut.a, box.b_begin, cut.b});
  }

  Index& at(std::vector<Index>& reached, Index diagonal) {
    return reached[static_cast<std::size_t>(diagonal + most_edits_ + 1)];
  }

  // The furthest place on a diagonal that one edit more reaches, from those of its neighbors; snakes are followed by
  // `is_equal`, which counts from the corner that the search began in.
  template <class IsEqual>
  Index extend(std::vector<Index>& reached, Index diagonal, Index edits, Index length_a, Index length_b,
               const IsEqual& is_equal) {
    const bool is_down =
        diagonal == -edits || (diagonal != edits && at(reached, diagonal - 1) < at(reached, diagonal + 1));
    Index x = edits == 0 ? 0 : is_down ? at(reached, diagonal + 1) : at(reached, diagonal - 1) + 1;
    for (Index y = x - diagonal; x < length_a && y < length_b && y >= 0 && is_equal(x, y); ++x, ++y) {
    }
    return at(reached, diagonal) = x;
  }

  // Where searches from both corners meet, each with half of the edits; or, after too many, the furthest place reached.
  Cut find_cut(const Box& box) {
    const Index n = box.a_end - box.a_begin, m = box.b_end - box.b_begin, delta = n - m;
    const auto from_begin = [&](Index x, Index y) { return equal(box.a_begin + x, box.b_begin + y); };
    const auto from_end = [&](Index x, Index y) { return equal(box.a_end - 1 - x, box.b_end - 1 - y); };
    const auto is_inside = [&](Index x, Index diagonal) { return x <= n && x - diagonal <= m && x - diagonal >= 0; };
    for (Index edits = 0; edits <= most_edits_; ++edits) {
      for (Index k = -edits; k <= edits; k += 2) {
        const Index x = extend(forward_, k, edits, n, m, from_begin);
        const Index other = delta - k;
        if (delta % 2 != 0 && std::abs(other) < edits && is_inside(x, k) && x + at(backward_, other) >= n)
          return {box.a_begin + x, box.b_begin + x - k};
      }
      for (Index k = -edits; k <= edits; k += 2) {
        const Index x = extend(backward_, k, edits, n, m, from_end);
        const Index other = delta - k;
        if (delta % 2 == 0 && std::abs(other) <= edits && is_inside(x, k) && x + at(forward_, other) >= n)
          return {box.a_end - x, box.b_end - x + k};
      }
    }
    Cut best{box.a_begin, box.b_begin};
    for (Index k = -most_edits_; k <= most_edits_; k += 2)
      if (const Index x = at(forward_, k); is_inside(x, k) && 2 * x - k > best.a - box.a_begin + best.b - box.b_begin)
        best = {box.a_begin + x, box.b_begin + x - k};
    if (best.a == box.a_begin && best.b == box.b_begin) ++best.a;  // nowhere inside: on without this element
    return best;
  }

  std::span<const std::uint32_t> a_, b_;
  Index most_edits_;
  std::vector<Index> forward_, backward_;  // furthest place by diagonal
  std::vector<Box> boxes_;
  std::vector<std::pair<std::size_t, std::size_t>> pairs_;
};

}  // namespace

std::vector<std::pair<std::size_t, std::size_t>> common_subsequence(std::span<const std::uint32_t> a,
                                                                    std::span<const std::uint32_t> b) {
  return Matcher(a, b).run();
}

}  // namespace underlap::compare
