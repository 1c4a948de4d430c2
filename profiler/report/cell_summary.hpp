// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "profiler/report/results.hpp"
#include "profiler/report/stalls.hpp"
#include "profiler/report/statistics.hpp"

namespace underlap::report {

/// Communication of one purpose, or of one mode, in one step of a cell, mean over the ranks; each figure is a median
/// over blocks of medians over steps, so they need not add up.
struct PurposeSummary {
  double comm_ms = 0;
  double exposed_ms = 0;
  double exposed_wait_ms = 0;
  double exposed_transfer_ms = 0;
  double exposed_unsplit_ms = 0;
  double bytes_on_wire = 0;
  double count = 0;
  double pipeline_dependency_ms = 0;  ///< part of exposed_wait_ms
};

/// A cell's step against that of the cell with the other value of one axis.
struct AxisRatio {
  std::string other_cell;
  Estimate step_ratio;                        ///< step_ms / step_ms of the other cell, as step_ratio_to_off
  std::optional<double> half_width;           ///< of the interval; absent without one
  bool is_resolved = false;                   ///< the half-width is at most kRatioResolution
  std::optional<std::int64_t> blocks_needed;  ///< for that half-width, at the spread seen so far
};

/// The summary of one cell. Times are those of its typical step (profiler/analysis/steps/job_steps.hpp): medians over
/// blocks of medians over counted steps, with their intervals (median_interval). A figure is absent if the cell ran
/// without its recorder, or if the cell to compare with is missing.
struct CellSummary {
  std::string name;
  std::string off_cell;      ///< the cell with every overlap off and otherwise equal; empty: none
  std::string no_comm_cell;  ///< the cell that T_comp comes from; empty: none
  std::int32_t steps = 0;    ///< counted steps of all blocks
  std::optional<Estimate> step_ms;
  std::optional<Estimate> comm_ms;           ///< mean over the ranks
  std::optional<Estimate> exposed_ms;        ///< mean over the ranks
  std::optional<Estimate> exposed_worst_ms;  ///< of the step's worst rank
  std::optional<double> overlap_pct;         ///< 100 * hidden / communication of all ranks; absent without any
  std::optional<double> bytes_on_wire;       ///< per rank and step
  std::optional<double> transfer_cpu_ms;     ///< CPU time of the transfers of all ranks, per step
  /// step_ms / step_ms of the off cell; below 1: overlap won. The limits are those of the blocks' own ratios, widened
  /// where they do not hold it.
  std::optional<Estimate> step_ratio_to_off;
  std::optional<Estimate> efficiency;         ///< E = 1 - ECT / ECT_off with ECT = step - T_comp; negative is legal
  std::optional<double> step_ratio_to_bound;  ///< step / bound_ns
  /// step / (bound_ns + transfer_cpu_ms): as if all the transfers' CPU time held up the step that the edges force.
  std::optional<double> step_ratio_to_bound_and_cpu;
  std::optional<double> step_ratio_to_bound_ideal;  ///< step / bound_ideal_ns
  /// By axis of two values that toggles neither overlap nor transfers; in the cells with the first of the values.
  std::map<std::string, AxisRatio> ratios_along;
  std::optional<double> final_loss;    ///< of the last measured step; absent where nothing was sent between ranks
  std::optional<double> tokens_per_s;  ///< rates_of() the median step, FLOPs counted by the run's convention
  std::optional<double> tflops_per_gpu;
  std::optional<double> mfu;
  std::vector<Stall> stalls;  ///< stalled steps, which no figure above counts
  std::map<std::string, PurposeSummary> modes;
  std::map<std::string, PurposeSummary> purposes;
};

/// The smallest difference of a step that should be resolved, as a share of the step.
constexpr double kRatioResolution = 0.01;

/// The cells that a cell is compared with, as indices.
struct References {
  std::optional<std::size_t> off;
  std::optional<std::size_t> no_comm;
};

/// A cell's references, as the plan has them; in results that lack them, from the values of axes alone:
///
/// An axis toggles overlap where the last part of its dotted path begins or ends with "overlap" (overlap,
/// ddp.overlap_grad_reduce, tp_comm_overlap) or is grad_reduce or param_gather; its values off, false and none mean
/// off. The axis run.no_comm (or no_comm) is never compared; nor is run.trace (or trace), but of several cells that
/// could be the reference one with the same value of it is taken.
///
/// off      communicates, has every overlap axis off, and equals the cell in all other axes. None where the matrix
///          toggles no overlap. The off cell is its own.
/// no_comm  a no_comm cell equal in all axes but those of overlap; an axis that it lacks counts as equal. Of several
///          the one with overlap off, since T_comp is to be that of the unsplit kernels.
References find_references(const std::vector<CellResult>& cells, std::size_t cell);

/// Two cells that differ in the value of one axis alone: `cell` has the one that the matrix names first.
struct AxisPair {
  std::string axis;
  std::size_t cell = 0;
  std::size_t other = 0;
};

/// All pairs along the axes of exactly two values, axis by axis, but those of a cell with overlap and its off cell, and
/// of one with transfers and one without.
std::vector<AxisPair> pairs_along_axes(const std::vector<CellResult>& cells);

/// One summary per cell, in the order of the cells. Deterministic. Never throws for what was measured.
std::vector<CellSummary> summarize(const RunResults& results);

/// Rates of a step.
struct StepRates {
  double tokens_per_s = 0;    ///< of all ranks together
  double tflops_per_gpu = 0;  ///< of one rank, which is a GPU but on backend host
  std::optional<double> mfu;  ///< share of the peak; absent where that is not known
};

/// The rates of a step of `step_s` seconds on so many ranks, with its FLOPs counted by `convention`. Absent if the work
/// is unknown.
std::optional<StepRates> rates_of(const StepWork& work, std::int32_t num_ranks, double step_s,
                                  const std::string& convention);

/// A convention in words: "the full attention matrix, without recomputation".
std::string convention_words(const std::string& convention);

}  // namespace underlap::report
