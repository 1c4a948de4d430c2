// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "bench/tune/job.hpp"
#include "bench/tune/plays.hpp"
#include "bench/tune/step_times.hpp"

namespace underlap::bench {

/// What an overlap knob is worth in a configuration: the step with it changed alone.
struct KnobWorth {
  std::string name;
  std::string value;    ///< that it has
  std::string against;  ///< that it is held against: off, or what it has when nobody chooses
  std::int64_t step_ns = 0;
  std::string failure;  ///< why there is no such step; empty: there is one
};

/// A layout with its overlap settings, played.
struct TunedConfig {
  Choices choices;
  plan::Plan plan;
  StepExposure step;  ///< of the whole step, with all its microbatches
  std::int64_t least_step_ns = 0;
  std::vector<KnobWorth> worth = {};  ///< in the order of what they save
};

/// What became of the layouts that there are.
struct SearchCounts {
  std::size_t layouts = 0;
  std::map<std::string, std::size_t> refused;  ///< by what the plan says of them
  std::size_t too_large = 0;                   ///< do not fit even where everything is recomputed
  std::size_t beaten = 0;                      ///< cannot be among the best, however they overlap: by LeastSteps
  std::size_t estimated = 0;
  std::size_t refined = 0;  ///< of these, whose overlap settings were searched
  std::size_t played = 0;   ///< steps in all, short ones too
};

struct SearchResult {
  std::vector<TunedConfig> best;  ///< at most kBestShown, the fastest first
  SearchCounts counts;
};

inline constexpr std::size_t kBestShown = 10;

/// Told from time to time what the search is at; `best_ns` 0: nothing was played yet.
using SearchProgress =
    std::function<void(const std::string& what, std::size_t done, std::size_t count, std::int64_t best_ns)>;

/// Looks for the layout and the overlap settings of the shortest step.
///
/// Layouts that do not fit by predicted memory are left out, each with the least recomputation that makes it fit. Those
/// that are left come in the order of the least step that their compute allows (LeastSteps), and are estimated
/// with the overlap that the plan's rules choose, until no further one can be among the best. Of the best of them
/// overlap knobs are then tried with all their values, one knob after the other: all knobs of the first of each kind of
/// layout, and of the others those that helped there. Ten are played in full. The same for the same job,
/// whatever the number of threads.
SearchResult search(const TuneJob& job, Plays& plays, const SearchProgress& progress);

/// Plays every layout with every amount of recomputation and every combination of overlap settings, in full.
/// Throws std::invalid_argument where these are more than kMostCombinations.
SearchResult search_exhaustively(const TuneJob& job, Plays& plays, const SearchProgress& progress);

inline constexpr std::size_t kMostCombinations = 20'000;

}  // namespace underlap::bench
