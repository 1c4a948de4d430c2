// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platform/table.hpp"
#include "profiler/analysis/not_comparable.hpp"
#include "profiler/compare/run_figures.hpp"
#include "profiler/compare/sides.hpp"
#include "profiler/compare/trace_change.hpp"
#include "profiler/report/results.hpp"

namespace underlap::compare {

/// Two cells, or two traces.
struct Comparison {
  std::string name;         ///< of the cell; of two traces empty
  double from_step_ns = 0;  ///< typical, as every other command has it (analysis/steps/job_steps.hpp)
  double to_step_ns = 0;
  std::optional<double> from_exposed_ns = {};  ///< of the typical step; absent where nothing was recorded
  std::optional<double> to_exposed_ns = {};
  /// Of the mean over the steps that both sides have, whose parts sum to it. Absent where a side has no trace.
  std::optional<TraceChange> change = {};

  double delta_ns() const { return to_step_ns - from_step_ns; }
};

struct CompareReport {
  std::string from = {};  ///< what was named
  std::string to = {};
  std::string forced = {};  ///< why the sides are not comparable, where that was asked to be passed over
  std::vector<Difference> differences = {};
  std::vector<std::string> notes = {};
  std::vector<Comparison> comparisons = {};
};

/// How much of a report a text shows.
enum class Details : std::uint8_t {
  largest,  ///< of several cells the one that changed most, and of its operations the ten that did
  all
};

/// A part of the mean step, in nanoseconds.
struct StepPart {
  std::string name;
  std::optional<double> from_ns = {};  ///< absent where it is not known
  std::optional<double> to_ns = {};
  bool is_within = false;  ///< belongs to the part above it, and is no further summand; others are known

  std::optional<double> delta_ns() const { return from_ns && to_ns ? std::optional(*to_ns - *from_ns) : std::nullopt; }
};

/// Whether any exposed time of a side could be split into wait and transfer.
bool waits_are_known(const analysis::Split&);

/// The parts of the mean window of either side. The parts that are not within another sum to the window. The part
/// for kernels that ran at once is the time that they saved, and is subtracted.
std::vector<StepPart> parts_of(const TraceChange&);

/// "the step takes 17.5 % longer, 53.25 ms after 45.31 ms: 9.21 ms more dp communication is exposed;
/// grad_reduce_scatter cost most, +9.20 ms".
std::string sentence_of(const Comparison&);

/// For a terminal: the sentence, what the sides do not have in common, parts and operations.
std::string compare_text(const CompareReport&, const TableFormat&, Details details);

/// The same in Markdown, operations folded.
std::string compare_markdown(const CompareReport&);

/// For machines: schema underlap.compare/1; times are exact sums over the windows.
std::string compare_json(const CompareReport&);
std::string compare_json_schema();

/// A trace to compare.
struct NamedTrace {
  std::string name;  ///< what was named: a file, a folder or a pattern
  Side side;
};

/// Compares two traces by their steps, or, if neither shows any, as one step each.
///
/// Throws NotComparable, unless `is_forced`; std::invalid_argument where the steps of one side alone are known; and as
/// compare_traces().
CompareReport report_of_traces(const NamedTrace& from, const NamedTrace& to, bool is_forced);

/// A finished run to compare. The source of its figures is the path that the user named.
struct ComparedRun {
  report::RunResults results = {};
  RunFigures figures = {};
};

/// Where the difference of two cells went, by their traces (compare_traces()); nullopt where a side has none.
using ChangeOfCells =
    std::function<std::optional<TraceChange>(const report::CellResult& from, const report::CellResult& to)>;

/// Compares two runs cell by cell, in the order of the first: by the traces that `change_of` reads, else by the steps
/// alone. A cell that one run lacks becomes a note.
///
/// Throws std::invalid_argument as check_sides(), where no cell is in both, and where they did not do the same, unless
/// `is_forced`.
CompareReport report_of_runs(const ComparedRun& from, const ComparedRun& to, bool is_forced,
                             const ChangeOfCells& change_of);

/// The same of two cells of one run. Throws std::invalid_argument where the run lacks one or both are the same, and
/// where they did not do the same, unless `is_forced`.
CompareReport report_of_cells(const ComparedRun& run, const std::string& from, const std::string& to, bool is_forced,
                              const ChangeOfCells& change_of);

constexpr std::size_t kShortName = 34;

/// A kernel's name without its return type. If it is still longer than `longest` characters, drops its arguments and
/// namespaces, then its middle. Whole names can fill a screen; JSON and the HTML page have them.
std::string short_name(std::string_view name, std::size_t longest = kShortName);

/// A name that is to be shortened, and to how much.
struct LongName {
  std::string name;
  std::size_t longest = kShortName;
};

/// Short names that differ wherever the names differ. If two names would be shortened to the same text, the part that
/// differs, such as a template argument, is kept.
std::vector<std::string> short_names(const std::vector<LongName>& names);

}  // namespace underlap::compare
