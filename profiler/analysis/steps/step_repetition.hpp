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
  bool is_first_cut = false;        ///< part of a repeat stands before the first
  bool is_last_cut = false;         ///< and after the last
};

/// Finds the shortest piece that `names` repeats at least twice, allowing each repeat some names of its own.
///
/// A repeat begins at a name that comes once in each; all repeats hold the same names, each as often, but for one in
/// ten, and half of all names stand in repeats. Of the names that will do, the one with the longest pause before it is
/// taken: `pause_ns` has one for each name. A part at either end that is no whole repeat is left out. nullopt where
/// nothing repeats. Takes time in proportion to the names.
std::optional<Repetition> find_repetition(std::span<const NameId> names, std::span<const double> pause_ns);

/// The steps of one rank by the sequence of its kernels on the stream that has most of them; of source none where it
/// does not repeat.
RankSteps steps_of_repetition(const Trace&, const RankSlices&);

}  // namespace underlap::analysis
