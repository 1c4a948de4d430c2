// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "profiler/report/results.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::analysis {
struct Summary;
}

namespace underlap::compare {

/// The name of what copies take of a step under neither compute nor communication, among the operations of compute.
inline constexpr const char* kCopies = "copies";

/// The time and data of one purpose of communication, or of compute, in one step: mean over the ranks, median over the
/// steps (compute: mean). Compute without a purpose is listed by kernel name. Nanoseconds and bytes.
struct OperationFigure {
  std::string name = {};
  bool is_communication = false;
  double busy_ns = 0;     ///< that it ran
  double exposed_ns = 0;  ///< of communication: of these, without compute
  double count = 0;       ///< of communication
  double bytes = 0;       ///< on the wire, of communication
  friend bool operator==(const OperationFigure&, const OperationFigure&) = default;
};

/// A key of CellFigures::work. Present if all of the work is known: in runs, and in traces that describe it.
inline constexpr const char* kWithoutTransfers = "without transfers";

/// The figures of one cell of one run, which is a fresh process.
struct CellFigures {
  std::string name = {};
  /// Model, batch, sizes: cells that differ in one of these did different work.
  std::map<std::string, std::string> work = {};
  /// What else was in effect, by knob.
  std::map<std::string, std::string> knobs = {};
  std::vector<std::string> derived_knobs = {};  ///< those of `knobs` that were not set; empty in older baselines
  /// By metric: "step" and "exposed" in nanoseconds, "exposed.dp" likewise for each mode, "efficiency" of 1, "bytes"
  /// per rank and step. Absent: the run does not tell.
  std::map<std::string, double> metrics = {};
  std::string numerics = {};       ///< label, as results have it; empty for traces
  double max_loss_difference = 0;  ///< relative, against the reference cell
  std::string schedule = {};       ///< a hash of all steps of all ranks in virtual time; empty where time was measured
  std::vector<OperationFigure> operations = {};
  friend bool operator==(const CellFigures&, const CellFigures&) = default;
};

/// Prefix of the path of an input file whose hash is kept. Runs that did not name the file lack it.
inline const std::string kContentsOf = "contents of ";

/// The figures of one run: all that a comparison or a gate reads of it.
struct RunFigures {
  std::string source = {};  ///< the folder or file that it was read from
  std::filesystem::path read_from =
      {};                 ///< of traces the absolute path; empty for runs and for baselines, which are copies
  bool is_exact = false;  ///< virtual time whose durations do not vary at random: no noise
  std::string command = {};
  std::string commit = {};
  std::string commit_utc = {};   ///< ISO 8601; empty where it is not known
  std::string started_utc = {};  ///< ISO 8601; empty for traces
  std::string series = {};       ///< of `run --runs`; empty: a run of its own
  std::int32_t series_run = 0;
  std::string series_side = {};
  /// Backend and link: runs that differ in one of these are never compared.
  std::map<std::string, std::string> kind = {};
  /// Machine, versions, hashes of input files (kContentsOf): what a change may come from.
  std::map<std::string, std::string> environment = {};
  std::vector<CellFigures> cells = {};
  friend bool operator==(const RunFigures&, const RunFigures&) = default;
};

/// The figures of a finished run. `source` is named where something is wrong. Throws std::invalid_argument where blocks
/// are missing, where a cell has no steps, or where a block's times are not to be used.
RunFigures figures_of(const report::RunResults& results, const std::string& source);

/// What the trace of a cell holds in its metadata of what was run: "work" and "knobs" of its figures, as JSON.
std::map<std::string, std::string> metadata_of(const report::CellResult& cell);

/// The facts of a trace about its origin; its one cell has no metrics.
RunFigures facts_of(const Trace& trace, const std::string& source);

/// The figures of a trace whose summary is `summary`, as those of one cell. A step is the mean over the ranks. Throws
/// std::invalid_argument where the trace has no steps.
RunFigures figures_of(const Trace& trace, const analysis::Summary& summary, const std::string& cell,
                      const std::string& source);

}  // namespace underlap::compare
