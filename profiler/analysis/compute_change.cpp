// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/compute_change.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "profiler/analysis/intervals.hpp"
#include "profiler/analysis/mode_name.hpp"

namespace underlap::analysis {
namespace {

KernelPlace place_of(const Trace& trace, std::size_t slice) {
  const Tag& tag = trace.tag(slice);
  return {trace.name(slice), tag.purpose, tag.direction, tag.layer, tag.microbatch};
}

std::int64_t sum_ns(const ComputeTimes::ByPiece& pieces) {
  std::int64_t sum = 0;
  for (const auto& [piece, kernels] : pieces) sum += kernels.ns;
  return sum;
}

bool has_same_kernels(const ComputeTimes::ByPiece& a, const ComputeTimes::ByPiece& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.first == y.first && x.second.count == y.second.count;
  });
}

// Adds one place's time to the parts of the cell that has it, and with its sign to the purposes.
void add_place(const KernelPlace& place, const ComputeTimes::ByPiece& pieces,
               const std::map<KernelPlace, ComputeTimes::ByPiece>& others, std::int64_t sign, ComputeParts& parts,
               std::map<std::string, KernelChange>& purposes) {
  const auto counterpart = others.find(place);
  const bool is_same = counterpart != others.end() && has_same_kernels(pieces, counterpart->second);
  const std::int64_t ns = sum_ns(pieces);
  KernelChange& change = purposes[purpose_name(place.purpose)];
  (is_same ? parts.same_kernels_ns : parts.other_kernels_ns) += ns;
  (is_same ? change.contention_ns : change.decomposition_ns) += sign * ns;
}

struct Sums {
  std::map<KernelPlace, ComputeTimes::ByPiece> places;
  std::int64_t windows = 0, busy_ns = 0;
};

// The compute among the slices of one rank, in its windows.
void add_slices(const Trace& trace, const std::vector<std::uint32_t>& slices, std::vector<Window> windows,
                std::map<StepId, Sums>& sums) {
  std::ranges::sort(windows, {}, &Window::begin_ns);
  std::vector<std::vector<Interval>> busy(windows.size());
  for (const std::uint32_t slice : slices) {
    if (trace.tag(slice).kind != Kind::compute) continue;
    const std::int64_t start = trace.start_ns()[slice];
    const std::int64_t end = trace.end_ns(slice);
    auto window = std::ranges::lower_bound(windows, start, {}, &Window::end_ns);
    for (; window != windows.end() && window->begin_ns < end; ++window) {
      const Interval piece{std::max(start, window->begin_ns), std::min(end, window->end_ns)};
      const bool ends_here = end <= window->end_ns;
      if (piece.length() == 0 && !ends_here) continue;
      const Tag& tag = trace.tag(slice);
      ComputeTimes::Kernels& kernels =
          sums.at({window->block, window->step}).places[place_of(trace, slice)][{tag.bucket, tag.chunk}];
      if (ends_here) ++kernels.count;
      kernels.ns += piece.length();
      busy[static_cast<std::size_t>(window - windows.begin())].push_back(piece);
    }
  }
  for (std::size_t i = 0; i < windows.size(); ++i)
    sums.at({windows[i].block, windows[i].step}).busy_ns += IntervalSet(std::move(busy[i])).length();
}

}  // namespace

ComputeTimes::ComputeTimes(std::map<KernelPlace, ByPiece> places, std::int64_t windows, std::int64_t busy_ns)
    : places_(std::move(places)), windows_(windows), busy_ns_(busy_ns) {
  for (const auto& [place, pieces] : places_) kernels_ns_ += sum_ns(pieces);
}

ComputeTimes& ComputeTimes::operator+=(const ComputeTimes& other) {
  for (const auto& [place, pieces] : other.places_) {
    ByPiece& own = places_[place];
    for (const auto& [piece, kernels] : pieces) {
      own[piece].count += kernels.count;
      own[piece].ns += kernels.ns;
    }
  }
  windows_ += other.windows_;
  kernels_ns_ += other.kernels_ns_;
  busy_ns_ += other.busy_ns_;
  return *this;
}

std::map<std::string, std::int64_t> ComputeTimes::kernels_ns_by_purpose() const {
  std::map<std::string, std::int64_t> purposes;
  for (const auto& [place, pieces] : places_) purposes[purpose_name(place.purpose)] += sum_ns(pieces);
  return purposes;
}

std::map<StepId, ComputeTimes> compute_by_step(const Trace& trace, std::span<const Window> windows) {
  std::map<StepId, Sums> sums;
  std::map<std::int32_t, std::vector<Window>> by_rank;
  for (const Window& window : windows) {
    by_rank[window.rank].push_back(window);
    ++sums[{window.block, window.step}].windows;
  }
  const auto slices = work_by_rank(trace);
  for (auto& [rank, of_rank] : by_rank)
    if (const auto found = slices.find(rank); found != slices.end())
      add_slices(trace, found->second, std::move(of_rank), sums);
  std::map<StepId, ComputeTimes> times;
  for (auto& [step, sum] : sums) times.emplace(step, ComputeTimes(std::move(sum.places), sum.windows, sum.busy_ns));
  return times;
}

ComputeTimes compute_times(const Trace& trace, std::span<const Window> windows) {
  ComputeTimes all;
  for (const auto& [step, times] : compute_by_step(trace, windows)) all += times;
  return all;
}

ComputeChange compute_change(const ComputeTimes& from, const ComputeTimes& to) {
  if (from.windows() != to.windows())
    throw std::invalid_argument(fmt::format(
        "compute_change: {} windows vs. {}; pass the same number of steps and ranks", from.windows(), to.windows()));
  ComputeChange change;
  change.from.concurrency_ns = from.concurrency_ns();
  change.to.concurrency_ns = to.concurrency_ns();
  for (const auto& [place, pieces] : from.places())
    add_place(place, pieces, to.places(), -1, change.from, change.purposes);
  for (const auto& [place, pieces] : to.places())
    add_place(place, pieces, from.places(), 1, change.to, change.purposes);
  std::erase_if(change.purposes, [](const auto& purpose) { return purpose.second == KernelChange{}; });
  return change;
}

}  // namespace underlap::analysis
