// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/tune/fitting_layouts.hpp"
#include "bench/tune/job.hpp"
#include "bench/tune/simulated_steps.hpp"
#include "bench/tune/step_times.hpp"

namespace underlap::bench {

/// Contribution of an overlap knob in a configuration: the step with only this knob changed.
struct KnobWorth {
  std::string name;
  std::string value;    ///< in the configuration
  std::string against;  ///< compared with: off, or the default
  std::int64_t step_ns = 0;
  std::string failure;  ///< why there is no such step; empty: there is one
};

/// A layout with its overlap settings, simulated.
struct TunedConfig {
  Choices choices;
  plan::Plan plan;
  StepExposure step;  ///< of the whole step, with all its microbatches
  std::int64_t least_step_ns = 0;
  std::vector<KnobWorth> worth = {};  ///< sorted by what they save, largest first
};

/// Number of layouts by outcome.
struct SearchCounts {
  std::size_t layouts = 0;
  std::map<std::string, std::size_t> refused;  ///< by the plan's reason
  std::size_t too_large = 0;                   ///< do not fit even if everything is recomputed
  std::size_t beaten = 0;                      ///< pruned: with more stages than needed, or by a bound on their step
  std::size_t estimated = 0;
  std::size_t refined = 0;    ///< of these, the layouts whose overlap settings were searched
  std::size_t simulated = 0;  ///< simulated steps, short ones included
};

struct SearchResult {
  std::vector<TunedConfig> best;  ///< at most kBestShown, fastest first
  SearchCounts counts;
  std::optional<SmallestNeed> smallest_need = {};  ///< if nothing fits
};

inline constexpr std::size_t kBestShown = 10;

/// How far a search is.
struct SearchState {
  std::string what;  ///< that is simulated
  std::size_t done = 0, count = 0;
  std::int64_t best_ns = 0;  ///< of the best layout so far; 0: nothing was simulated yet
  Choices best = {};
};

/// Called from time to time, on any thread.
using SearchProgress = std::function<void(const SearchState&)>;

/// Searches for the layout and the overlap settings with the shortest step.
///
/// Each layout gets the least recomputation that makes it fit by predicted memory; layouts that never fit, and those
/// with far more pipeline stages than it takes to fit, are left out. The others are sorted by the least step that their
/// compute allows (LeastSteps). They are estimated with the overlap that the plan's rules choose, until no further one
/// can be among the best. Then all values of the overlap knobs are tried in the best layouts, one knob after the other:
/// all knobs in the first layout of each kind, and in the others those that helped there. Ten layouts are simulated in
/// full. The result is the same for the same job, with any number of threads.
SearchResult search(const TuneJob& job, SimulatedSteps& steps, const SearchProgress& progress);

/// Simulates every layout with every amount of recomputation and every combination of overlap settings, in full. Throws
/// std::invalid_argument for more than kMostCombinations combinations.
SearchResult search_exhaustively(const TuneJob& job, SimulatedSteps& steps, const SearchProgress& progress);

inline constexpr std::size_t kMostCombinations = 20'000;

}  // namespace underlap::bench
