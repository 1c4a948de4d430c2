// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "profiler/analysis/windows.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::analysis {

/// The position of a kernel in the step, as far as a trace shows it; launch shapes are not compared. Chunks of a split
/// operation have the place of the whole operation, and differ from it by their bucket and chunk numbers.
struct KernelPlace {
  NameId name = kNoName;
  NameId purpose = kNoName;
  Direction direction = Direction::none;
  std::int32_t layer = -1;
  std::int32_t microbatch = -1;

  friend auto operator<=>(const KernelPlace&, const KernelPlace&) = default;
};

/// A step of a run: its block and its number.
using StepId = std::pair<std::int32_t, std::int32_t>;

/// The compute kernels of windows, summed over windows, ranks and steps. Nanoseconds, all exact.
class ComputeTimes {
 public:
  struct Kernels {
    std::int64_t count = 0;  ///< that end in a window
    std::int64_t ns = 0;     ///< of their durations, cut at the windows
    friend bool operator==(const Kernels&, const Kernels&) = default;
  };
  using Piece = std::pair<std::int32_t, std::int32_t>;  ///< Tag::bucket and Tag::chunk
  using ByPiece = std::map<Piece, Kernels>;

  ComputeTimes() = default;
  /// Of so many windows, in which kernels of these places ran, one or more of them during `busy_ns`.
  ComputeTimes(std::map<KernelPlace, ByPiece> places, std::int64_t windows, std::int64_t busy_ns);

  ComputeTimes& operator+=(const ComputeTimes& other);
  friend bool operator==(const ComputeTimes&, const ComputeTimes&) = default;

  std::int64_t windows() const { return windows_; }
  std::int64_t kernels_ns() const { return kernels_ns_; }                 ///< sum of the kernels' durations
  std::int64_t concurrency_ns() const { return kernels_ns_ - busy_ns_; }  ///< time saved by kernels that ran at once
  std::int64_t busy_ns() const { return busy_ns_; }                       ///< length of their union in each window
  const std::map<KernelPlace, ByPiece>& places() const { return places_; }

  /// kernels_ns() by purpose, "unattributed" for none.
  std::map<std::string, std::int64_t> kernels_ns_by_purpose() const;

 private:
  std::map<KernelPlace, ByPiece> places_;
  std::int64_t windows_ = 0;
  std::int64_t kernels_ns_ = 0;
  std::int64_t busy_ns_ = 0;
};

/// The compute of `windows`, of any ranks; those of one rank do not overlap.
ComputeTimes compute_times(const Trace& trace, std::span<const Window> windows);

/// The same by step, each summed over the ranks whose windows are given.
std::map<StepId, ComputeTimes> compute_by_step(const Trace& trace, std::span<const Window> windows);

/// How the compute of one cell's windows is made up, seen from another cell. All sums are over the windows.
struct ComputeParts {
  std::int64_t same_kernels_ns = 0;   ///< of kernels that the other cell has too
  std::int64_t other_kernels_ns = 0;  ///< of those that it has not, or in other pieces
  std::int64_t concurrency_ns = 0;    ///< sum of the kernels' durations minus the time in which any runs

  std::int64_t compute_ns() const { return same_kernels_ns + other_kernels_ns - concurrency_ns; }
  friend bool operator==(const ComputeParts&, const ComputeParts&) = default;
};

/// What of a purpose's compute changed, and how.
struct KernelChange {
  std::int64_t contention_ns = 0;     ///< the same kernels take longer
  std::int64_t decomposition_ns = 0;  ///< other kernels: chunks, sums, casts
  friend bool operator==(const KernelChange&, const KernelChange&) = default;
};

/// Why compute became longer or shorter:
/// to.compute_ns() - from.compute_ns() = contention_ns() + decomposition_ns() - concurrency_change_ns(), exactly.
struct ComputeChange {
  ComputeParts from;
  ComputeParts to;
  std::map<std::string, KernelChange> purposes;  ///< sum to the two; purposes of which nothing changed are left out

  std::int64_t contention_ns() const { return to.same_kernels_ns - from.same_kernels_ns; }
  std::int64_t decomposition_ns() const { return to.other_kernels_ns - from.other_kernels_ns; }
  std::int64_t concurrency_change_ns() const { return to.concurrency_ns - from.concurrency_ns; }
  friend bool operator==(const ComputeChange&, const ComputeChange&) = default;
};

/// Compares the compute of as many windows of two cells.
///
/// Kernels are the same where both have as many of a place in each bucket and chunk: all ranks and steps together, so a
/// layer that another rank has in the other cell has its counterpart. A place with other numbers has been cut anew, and
/// all of it is decomposition, like a place that the other cell has not. Throws std::invalid_argument unless both are
/// of the same number of windows.
ComputeChange compute_change(const ComputeTimes& from, const ComputeTimes& to);

}  // namespace underlap::analysis
