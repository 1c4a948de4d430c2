// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "profiler/analysis/figure_table.hpp"
#include "profiler/analysis/trace_summary.hpp"
#include "profiler/compare/compare_report.hpp"
#include "profiler/gate/gate.hpp"
#include "profiler/report/cell_summary.hpp"
#include "profiler/report/scaling/scaling.hpp"
#include "profiler/trace/trace.hpp"
#include "viewer/theme/theme.hpp"

class QChart;

namespace underlap::viewer {

/// What a chart is drawn from: all of it is borrowed, and what was not given is null.
struct ChartInput {
  std::string name = {};      ///< what the user gave, for titles and messages
  std::string how_made = {};  ///< how_made() of the sides of a comparison or a gate, which do not record it
  /// Of a run, the cell whose change from its off cell is drawn; empty: the one that changed most
  std::string cell = {};
  const report::RunResults* run = nullptr;
  const std::vector<report::CellSummary>* summaries = nullptr;  ///< of `run`
  const Trace* trace = nullptr;
  const analysis::Summary* summary = nullptr;  ///< of `trace`
  const compare::Comparison* comparison = nullptr;
  const gate::GateReport* gate = nullptr;
  const report::ScalingReport* scaling = nullptr;
};

enum class ChartSource : std::uint8_t { run, trace, comparison, gate, scaling };

/// All that is drawn, in figures and words: the picture is made from this alone, so that its CSV holds what it shows.
struct ChartFigures {
  std::string title;
  std::string subtitle;  ///< what it is of, and whether it was measured or modelled
  std::string note;      ///< how to read it; may be empty
  analysis::FigureTable table;
};

/// A kind of chart: one file `NAME_chart.cpp` that defines `ChartKind NAME_chart()`, and one line in CMakeLists.txt.
struct ChartKind {
  std::string_view name;           ///< one word, as --chart takes it
  std::string_view title;          ///< for a menu
  std::vector<ChartSource> needs;  ///< one of these
  /// The half without Qt. Throws std::invalid_argument where what was given does not hold it, saying what does.
  ChartFigures (*figures)(const ChartInput&);
  /// The half that draws. The caller owns the chart; the theme outlives it.
  QChart* (*draw)(const ChartFigures&, const Theme&);
};

/// Every kind, in the order in which a menu has them.
std::span<const ChartKind> chart_kinds();

/// Throws std::invalid_argument for a name that no chart has, naming those that exist.
const ChartKind& chart_kind(std::string_view name);

/// Whether there is something of what the chart needs.
bool fits(const ChartKind&, const ChartInput&);

/// A chart with its figures. Throws std::invalid_argument where the input lacks what the chart needs, naming what to
/// give instead.
struct Chart {
  const ChartKind& kind;
  ChartFigures figures;
};
Chart make_chart(std::string_view name, const ChartInput&);

/// The chart as a QChart that resizes to the size it is given, in the fonts of the application. The theme must outlive
/// it. After the first resize, its preferredHeight() is the height at which no row is omitted. Needs a QApplication.
std::unique_ptr<QChart> draw(const Chart&, const Theme&);

/// How times came about: "measured: host, paced to 1 Gbit/s" or "simulated: h100-sxm; no time was measured".
std::string how_made(const report::RunInfo&);
std::string how_made(const Trace&);
/// Whether no time of it was measured.
bool is_modelled(const Trace&);
/// Of figures as a comparison or a gate reads them.
std::string how_made(const compare::RunFigures&);
/// Of runs at several sizes, which may be measured, modelled or both.
std::string how_made(const report::ScalingReport&);

/// Figures without rows. The title notes where times are modelled.
///
/// how   how_made() of what is drawn; empty: unknown
/// of    the drawn run, trace or comparison; follows `how` in the subtitle
ChartFigures headed(const std::string& title, const std::string& how, const std::string& of);
/// The same for the run of `input`, or else for its trace.
ChartFigures headed(const std::string& title, const ChartInput& input);

}  // namespace underlap::viewer
