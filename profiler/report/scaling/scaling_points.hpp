// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/report/results.hpp"
#include "profiler/report/summary.hpp"

namespace underlap::report {

/// How a figure of each rank, or of each node, lies over them. Milliseconds.
struct Spread {
  double least = 0;
  double p5 = 0;
  double median = 0;
  double p95 = 0;
  double most = 0;
};

/// The rank that the others wait for: the one with most time of its own in a step.
struct SlowestRank {
  std::int32_t rank = 0;
  std::string node;           ///< empty where it is not known
  double own_ms = 0;          ///< its window without waits for others, median over the steps
  double share_of_steps = 0;  ///< in which its own time was the longest of all, of 1; of N equal ranks about 1/N
};

/// The node whose ranks have most time of their own: the median of its ranks against that of all nodes.
struct SlowestNode {
  std::string node;
  double own_ms = 0;
};

/// One cell at one size, in one run or one series of runs: what a scaling report holds against other sizes.
struct ScalingPoint {
  std::string cell = {};      ///< its name without its size
  std::string name = {};      ///< its whole name
  std::string run = {};       ///< the folder that was named
  std::int32_t num_runs = 1;  ///< of a series more: figures are medians over them
  bool is_modelled = false;
  bool no_comm = false;
  std::int32_t num_ranks = 0;
  std::int32_t num_ranks_played = 0;           ///< fewer than num_ranks if one represents identical others
  std::optional<std::int32_t> num_nodes = {};  ///< absent if unknown, as in virtual time
  std::optional<double> sequences = {};        ///< of a step, all ranks; absent if the plan lacks it
  std::optional<double> tokens = {};           ///< the same in tokens
  /// Of the plan, by knob: what was asked for, and what was in effect, as JSON text. Asked for null: a rule decided.
  struct Knob {
    std::string requested;
    std::string effective;
  };
  std::map<std::string, Knob> knobs = {};
  std::map<std::string, std::string> environment = {};  ///< commit, versions, machine, link
  std::string backend = {};
  CellSummary summary = {};
  /// Of exposed_ms of the mean rank: waiting for members that came late, transfer, and where that is not known
  double exposed_wait_ms = 0;
  double exposed_transfer_ms = 0;
  double exposed_unsplit_ms = 0;
  std::optional<Spread> exposed_spread =
      {};                                 ///< over the ranks that were played, each rank's median; absent for one rank
  std::optional<Spread> own_spread = {};  ///< the same of their own time
  std::optional<SlowestRank> slowest_rank = {};  ///< absent where all are equal, or not all were played
  std::optional<SlowestNode> slowest_node = {};  ///< absent on one node
};

/// "modelled" or "measured".
inline std::string times_of(const ScalingPoint& point) { return point.is_modelled ? "modelled" : "measured"; }

/// A run as it is, or the finished runs of a series as one: each is a block then, since fresh processes, and not the
/// blocks of one, are what repeats. Throws std::invalid_argument, which names the `series`, without a run and where
/// one has other cells than the first.
RunResults joined(std::vector<RunResults> runs, const std::string& series);

/// The cells of a run. `run` is its name in messages and rows, `num_runs` the number of runs that were joined. Cells
/// without valid steps, or with an unknown number of ranks, are left out and listed in `notes`.
std::vector<ScalingPoint> scaling_points(const RunResults& results, const std::string& run, std::int32_t num_runs,
                                         std::vector<std::string>& notes);

/// Whether a knob sets the size of a job, and not how it works: it ends in parallel_size except for virtual stages, or
/// it sets the number of sequences of a step.
bool is_size(std::string_view knob);

}  // namespace underlap::report
