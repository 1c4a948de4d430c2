// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "profiler/analysis/steps.hpp"
#include "profiler/analysis/steps/step_ranges.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::analysis {

/// Where a sequence repeats itself.
struct Repetition {
  std::vector<std::size_t> begins;  ///< of each repeat, and the end of the last one
  bool is_first_cut = false;        ///< a part of a repeat precedes the first
  bool is_last_cut = false;         ///< and after the last
};

/// Finds the shortest piece that `names` repeats at least twice, allowing each repeat some names of its own.
///
/// A repeat starts at a name that occurs once in each. Each repeat shares nine of ten names with the first one, counted
/// with their multiplicity. Repeats cover at least half of all names. Of several possible first names, the one with the
/// longest mean pause before it is taken; `pause_ns` has the pause before each name. Incomplete repeats at either end
/// are left out. nullopt if nothing repeats. Takes time in proportion to the names.
std::optional<Repetition> find_repetition(std::span<const NameId> names, std::span<const double> pause_ns);

/// The steps of one rank by the sequence of its kernels on the stream that has most of them; of source none where it
/// does not repeat.
RankSteps steps_of_repetition(const Trace&, const RankSlices&);

}  // namespace underlap::analysis
