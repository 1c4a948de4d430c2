// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platform/table.hpp"
#include "profiler/report/cell_summary.hpp"
#include "profiler/report/report.hpp"
#include "profiler/report/results.hpp"

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

/// How the work of a step grows with the ranks.
enum class Scaling : std::uint8_t {
  weak,    ///< as many sequences a rank at every size
  strong,  ///< as many sequences a step at every size
  mixed,   ///< neither, or not known from the plans
};

/// "weak", "strong", "mixed".
std::string_view to_string(Scaling);
constexpr Scaling last_value(Scaling) { return Scaling::mixed; }

/// A point compared with the other points of its cell. "Smallest" is the smallest size of the same kind, measured or
/// modelled: the two are never mixed.
struct ScaledPoint {
  ScalingPoint point;
  std::optional<double> step_to_smallest = {};  ///< step / step of the smallest size; absent for that itself
  /// Sequences a second and rank, divided by those of the smallest size: 1 is perfect scaling, weak or strong
  std::optional<double> efficiency = {};
  std::optional<double> step_to_model = {};  ///< of measured points: step / modelled step of the same size
};

/// One cell at all of its sizes, rising; at one size measured before modelled.
struct ScaledCell {
  std::string name;
  Scaling scaling = Scaling::mixed;
  std::vector<ScaledPoint> points;
};

/// Something else than the size that one point has otherwise than the smallest of its kind, and that refuses nothing:
/// a version, a machine, what a rule decided.
struct ScalingDifference {
  std::string what;
  std::string smallest_run;
  std::string smallest;
  std::string run;
  std::string other;
  friend bool operator==(const ScalingDifference&, const ScalingDifference&) = default;
};

struct ScalingReport {
  std::string forced;  ///< why the points are not comparable, where that was asked to be passed over
  std::vector<std::string> notes;
  std::vector<ScalingDifference> differences;
  std::vector<ScaledCell> cells;
};

/// Compares cells of one name at several sizes. The report includes `notes`, and notes on cells that have only one
/// size.
///
/// Throws std::invalid_argument if no cell has two sizes, or if one size of a cell was measured, or modelled, twice.
/// Throws NotComparable, unless `is_forced`, if the cells differ in a requested setting other than their size: the
/// message names the knob, both runs and both values.
ScalingReport scaling_of(std::vector<ScalingPoint> points, std::vector<std::string> notes, bool is_forced);

/// The report on folders of runs, or of series of runs, as a person names them. Calls `at` with each path before it is
/// read. Throws as scaling_of() and read_results() do, and std::invalid_argument for a folder that holds no run.
ScalingReport read_scaling(const std::vector<std::string>& paths, bool is_forced,
                           const std::function<void(const std::string& path)>& at);

/// What became of a cell from its smallest to its largest size, measured and modelled apart: "off, measured, 2 to 64
/// ranks: the step takes 1.42 times as long, ...". One or two sentences.
std::vector<std::string> scaling_sentences(const ScaledCell& cell);

/// A row for each cell, size and kind of times.
Table scaling_table(const ScalingReport& report);

/// For a terminal: the sentences, then the table. With details also communication by mode, the spread between ranks,
/// and differences other than the size.
std::string scaling_text(const ScalingReport& report, const TableFormat& format, Details details);

/// For machines: schema underlap.scaling/1.
std::string scaling_json(const ScalingReport& report);
/// The JSON Schema of scaling_json(), as JSON text.
std::string scaling_json_schema();

/// The rows as CSV, each figure's unit in the name of its column.
std::string scaling_csv(const ScalingReport& report);

}  // namespace underlap::report
