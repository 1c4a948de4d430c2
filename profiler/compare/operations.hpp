// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "profiler/analysis/windows.hpp"
#include "profiler/trace/name.hpp"
#include "profiler/trace/tag.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::compare {

/// A slice of work within a window. Nanoseconds.
struct OwnedSlice {
  std::size_t slice = 0;
  std::int64_t busy_ns = 0;   ///< of its duration, inside the window
  std::int64_t own_ns = 0;    ///< what of the window is its own
  bool ends_here = false;     ///< false: it ends in a later window, or after the last
  bool began_before = false;  ///< an earlier window has a part of it
};

/// A window of one rank, shared out: own_ns of all slices and idle_ns sum to its length.
struct OwnedWindow {
  std::vector<OwnedSlice> slices;  ///< in the order of their starts
  std::int64_t idle_ns = 0;
};

/// Gives every instant of each window to one slice: to the compute kernel that began last of those that run, else to
/// the communication that did (which is exposed), else to the copy that did; else it is idle. `slices_of_rank` are
/// in the order of their starts. `windows` are of one rank, sorted, and do not overlap.
std::vector<OwnedWindow> share_out(const Trace& trace, std::span<const std::uint32_t> slices_of_rank,
                                   std::span<const analysis::Window> windows);

/// What an operation of one side has on the other.
enum class Match : std::uint8_t { both, added, removed };

/// "both", "added", "removed".
std::string_view to_string(Match);
constexpr Match last_value(Match) { return Match::removed; }

/// How often and how long an operation ran on either side. Nanoseconds, sums over the windows.
struct OperationTimes {
  std::int64_t from_count = 0;
  std::int64_t to_count = 0;
  std::int64_t from_busy_ns = 0;  ///< durations within the windows
  std::int64_t to_busy_ns = 0;
  std::int64_t from_step_ns = 0;  ///< what of the step is its own: every instant belongs to one operation alone
  std::int64_t to_step_ns = 0;

  std::int64_t step_delta_ns() const { return to_step_ns - from_step_ns; }
  void add(const OwnedSlice&, bool is_to);
  OperationTimes& operator+=(const OperationTimes&);
  friend bool operator==(const OperationTimes&, const OperationTimes&) = default;
};

/// What one operation, at all its places in the compared steps, did to the step.
struct OperationChange : OperationTimes {
  std::string name;     ///< its purpose, or else the kernel's name; of idle time "idle"
  std::string kind;     ///< "compute", "communication", "copy", "idle"
  std::string mode;     ///< of communication: "dp", ...; empty otherwise
  std::string purpose;  ///< empty where it is not known
  std::string stream;   ///< that it runs on, as the trace names it
  std::int32_t first_layer = -1;
  std::int32_t last_layer = -1;  ///< -1: of no layer
  Match match = Match::both;
};

/// The same of an operation with all that was added, removed and matched of it: what it did to the step on balance.
/// Layers that changed alike are one; see alike_ranges(). `match` is added or removed where one side has none of it.
struct NetOperation : OperationChange {
  std::int64_t added = 0;  ///< of to_count, without a counterpart
  std::int64_t removed = 0;
  bool is_of_some_layers = false;  ///< its other layers changed differently, and are separate
};

/// What all operations of one stream, or of one purpose, did to the step.
struct StepSum {
  std::string name;
  std::int64_t from_step_ns = 0;
  std::int64_t to_step_ns = 0;
  std::int64_t step_delta_ns() const { return to_step_ns - from_step_ns; }
};

/// Sums by a member of all operations, the largest change first; they sum to the same as these. What has none of it
/// (idle time has no stream, a kernel perhaps no purpose) goes by its kind.
std::vector<StepSum> sums_by(const std::vector<OperationChange>&, std::string OperationChange::*what);

/// Slices with equal keys form one row of the table of operations.
struct OperationKey {
  Kind kind = Kind::compute;
  Mode mode = Mode::none;
  NameId name = kNoName;  ///< where no purpose is known
  NameId purpose = kNoName;
  NameId stream = kNoName;

  friend bool operator==(const OperationKey&, const OperationKey&) = default;
};

/// Adds up slices by operation.
class Operations {
 public:
  void add(const OperationKey&, std::int32_t layer, Match, const OwnedSlice&, bool is_to);
  void add_idle(std::int64_t ns, bool is_to) { (is_to ? idle_.to_step_ns : idle_.from_step_ns) += ns; }

  /// Both by size of what they did to the step, largest first; idle time is an operation of its own.
  void list(std::vector<OperationChange>& split, std::vector<NetOperation>& net) const;

 private:
  using ByMatch = std::array<OperationTimes, 3>;
  using ByLayer = std::map<std::int32_t, ByMatch>;
  struct Hash {
    std::size_t operator()(const OperationKey&) const;
  };

  std::unordered_map<OperationKey, ByLayer, Hash> operations_;
  OperationTimes idle_;
};

/// What an operation's change of one layer did to the step.
struct LayerChange {
  std::int32_t layer = 0;
  std::int64_t delta_ns = 0;
};

/// Neighboring layers whose changes are alike.
struct LayerRange {
  std::int32_t first = 0;
  std::int32_t last = 0;
  friend bool operator==(const LayerRange&, const LayerRange&) = default;
};

/// Cuts layers, which are in order, where their changes differ: changes are alike that have one sign and are within a
/// factor of two of each other, or that are all below 1 % of the operation's largest. More ranges than three and than a
/// quarter of the layers are scatter and no change of some layers: then all are one.
std::vector<LayerRange> alike_ranges(std::span<const LayerChange> layers);

}  // namespace underlap::compare
