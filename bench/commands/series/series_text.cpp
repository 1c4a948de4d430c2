// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <vector>

#include "bench/commands/series/series.hpp"
#include "platform/numbers/median.hpp"
#include "profiler/gate/named_runs.hpp"
#include "profiler/report/run_folders.hpp"
#include "profiler/report/statistics.hpp"

namespace underlap::bench {
namespace {

namespace fs = std::filesystem;
using Runs = std::vector<compare::RunFigures>;

bool holds_runs(const fs::path& folder) {
  return !report::find_results(folder) && !report::numbered_runs(folder).empty();
}

// Complete runs only; missing and running ones are described in `incomplete`.
Runs shown_runs(const fs::path& folder, std::string& incomplete) {
  gate::SeriesRuns series = gate::series_runs(folder);
  if (series.runs.empty())
    throw std::invalid_argument(series.incomplete.empty()
                                    ? folder.string() +
                                          ": contains no complete run\n  --resume continues an incomplete one"
                                    : series.incomplete);
  if (!series.incomplete.empty()) incomplete += "\nnote: " + series.incomplete + "\n";
  return std::move(series.runs);
}

std::vector<double> steps_of(const Runs& runs, std::size_t cell) {
  std::vector<double> steps;
  for (const compare::RunFigures& run : runs)
    if (cell < run.cells.size()) steps.push_back(run.cells[cell].metrics.at("step"));
  return steps;
}

// Standard deviation of the logarithms, in percent: "1.3", or nothing for one run.
std::string spread_text(const std::vector<double>& steps) {
  if (steps.size() < 2) return "-";
  std::vector<double> logarithms;
  for (const double step : steps) logarithms.push_back(std::log(step));
  return fmt::format("{:.1f}",
                     100 * std::sqrt(squares_around_mean(logarithms) / static_cast<double>(steps.size() - 1)));
}

std::string step_text(const std::vector<double>& steps) { return fmt::format("{:.2f}", report::median(steps) / 1e6); }

std::string one_side(const Runs& runs, const TableFormat& format) {
  Table table{{{"cell", Align::left}, {"runs"}, {"step ms"}, {"spread %"}}, {}};
  for (std::size_t i = 0; i < runs.front().cells.size(); ++i) {
    const std::vector<double> steps = steps_of(runs, i);
    table.rows.push_back(
        {runs.front().cells[i].name, std::to_string(steps.size()), step_text(steps), spread_text(steps)});
  }
  return render(table, format);
}

std::string two_sides(const Runs& baseline, const Runs& candidate, const TableFormat& format) {
  Table table{{{"cell", Align::left},
               {"runs"},
               {"baseline ms"},
               {"spread %", Align::right, 1},
               {"candidate ms"},
               {"spread %", Align::right, 1},
               {"change %"}},
              {}};
  for (std::size_t i = 0; i < baseline.front().cells.size(); ++i) {
    const std::vector<double> before = steps_of(baseline, i), now = steps_of(candidate, i);
    if (now.empty()) continue;
    table.rows.push_back({baseline.front().cells[i].name, fmt::format("{} + {}", before.size(), now.size()),
                          step_text(before), spread_text(before), step_text(now), spread_text(now),
                          fmt::format("{:+.1f}", 100 * (report::median(now) / report::median(before) - 1))});
  }
  return render(table, format);
}

}  // namespace

bool is_series(const fs::path& folder) {
  return holds_runs(folder) || holds_runs(folder / "baseline") || holds_runs(folder / "candidate");
}

std::string series_text(const fs::path& folder, const TableFormat& format) {
  const std::string name = folder.string();
  std::string incomplete;
  if (holds_runs(folder)) {
    const Runs runs = shown_runs(folder, incomplete);
    return one_side(runs, format) +
           fmt::format(
               "\nruns:  {0}/run-00, ...  (underlap show {0}/run-00 prints one)\nnext:  underlap baseline save {0} -o "
               "baselines/NAME, or underlap gate BASELINE {0}\n",
               name) +
           incomplete;
  }
  const Runs baseline = shown_runs(folder / "baseline", incomplete);
  const Runs candidate = shown_runs(folder / "candidate", incomplete);
  return two_sides(baseline, candidate, format) +
         fmt::format(
             "\nruns:  {0}/baseline and {0}/candidate, interleaved\nnext:  underlap gate {0}/baseline {0}/candidate\n",
             name) +
         incomplete;
}

}  // namespace underlap::bench
