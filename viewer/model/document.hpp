// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "profiler/compare/compare_report.hpp"
#include "profiler/gate/gate.hpp"
#include "profiler/input/trace_input.hpp"
#include "profiler/report/cell_summary.hpp"
#include "profiler/report/results.hpp"
#include "profiler/report/scaling/scaling.hpp"
#include "profiler/trace/reading.hpp"
#include "viewer/timeline/timeline.hpp"

namespace underlap::viewer {

/// What was opened, as a window shows it. Made by one thread, and not changed afterwards.
struct Document {
  Document() = default;
  virtual ~Document() = default;
  Document(const Document&) = delete;
  Document& operator=(const Document&) = delete;

  std::string path;                     ///< as it was named
  std::string title;                    ///< short, for a tab
  std::vector<std::string> files = {};  ///< that it was read from
};

/// The traces of one job, or of one cell of a run.
struct TraceDocument : Document {
  input::CellTrace traced;
  std::unique_ptr<Timeline> timeline;  ///< of `traced`
  bool is_partial = false;             ///< it is still being read: kinds and modes may not be known yet
  attribution::ModeMap mode_map;       ///< that modes were assigned with
  std::string mode_map_fault;          ///< why the mode map of the trace could not be read
  std::vector<std::string> headline;   ///< the most important results, as `underlap analyze` prints them
};

/// A run's folder: its matrix. Traces of its cells are documents of their own.
struct RunDocument : Document {
  report::RunResults results;
  std::vector<report::CellSummary> summaries;
};

/// Two traces and the explanation of their difference.
struct CompareDocument : Document {
  std::shared_ptr<const TraceDocument> from;
  std::shared_ptr<const TraceDocument> to;
  compare::CompareReport report;
};

/// The result of `underlap gate --json`, read from a file or computed for the given runs.
struct GateDocument : Document {
  gate::GateReport report;
};

/// Runs of one matrix at several sizes.
struct ScalingDocument : Document {
  report::ScalingReport report;
};

/// What a file or folder is read as.
enum class DocumentKind { trace, run, gate };
DocumentKind kind_of(const std::string& path);

/// The run whose folder `traces` this is; empty if it is none.
std::string run_of_traces(const std::string& folder);

/// Reads a trace, a folder or a pattern of traces, as `underlap analyze` does, with a mode map. Throws as
/// input::read_cell(); Cancelled; std::invalid_argument for what holds runs.
std::shared_ptr<TraceDocument> open_trace(const std::string& path, ReadingWatch& watch,
                                          attribution::ModeMap mode_map = {});

/// What was read of a trace so far, as a document of its own.
std::shared_ptr<TraceDocument> part_of(const std::string& path, const Trace& so_far);

/// Reads the results of a run. Throws as report::read_results().
std::shared_ptr<RunDocument> open_run(const std::string& folder);

/// Reads a gate's report. Throws as gate::read_gate().
std::shared_ptr<GateDocument> open_gate(const std::string& file);

/// Judges what one path names by what another does, as `underlap gate` with its defaults. Throws as gate::runs_named()
/// and gate::run_gate().
std::shared_ptr<GateDocument> judge_runs(const std::string& baseline, const std::string& candidate, bool is_forced,
                                         ReadingWatch& watch);

/// Holds runs at several sizes against each other. Throws as report::read_scaling(); Cancelled.
std::shared_ptr<ScalingDocument> scale_runs(const std::vector<std::string>& paths, bool is_forced, ReadingWatch& watch);

/// Compares two traces as `underlap compare` does. Throws std::invalid_argument, with the reason, where they are not
/// comparable, unless `is_forced`.
std::shared_ptr<CompareDocument> compare_documents(std::shared_ptr<const TraceDocument> from,
                                                   std::shared_ptr<const TraceDocument> to, bool is_forced);

/// The file of a cell's trace, which may have been compressed since; empty if it does not exist.
std::string trace_file_of(const RunDocument&, std::size_t cell);

}  // namespace underlap::viewer
