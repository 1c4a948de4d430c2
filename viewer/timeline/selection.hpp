// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "profiler/analysis/figure_table.hpp"
#include "profiler/analysis/split.hpp"
#include "viewer/timeline/timeline.hpp"

namespace underlap::viewer {

/// What one rank did in a selected time, split as `underlap analyze` splits a step.
struct SelectedRank {
  std::int32_t rank = 0;
  analysis::Split split;
};

/// A name and the time that its slices take of a selection.
struct SelectedName {
  NameId name = kNoName;
  Kind kind = Kind::compute;
  std::int64_t count = 0;    ///< that touch the selection
  std::int64_t busy_ns = 0;  ///< within it
};

struct Selection {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::vector<SelectedRank> ranks;
  std::vector<SelectedName> names;  ///< by time, longest first
};

/// Splits [begin_ns, end_ns) of the timeline, of all ranks or of one. In the time of what is selected.
Selection select(const Timeline&, std::int64_t begin_ns, std::int64_t end_ns, std::optional<std::int32_t> rank = {});

/// A row for each mode with communication: communication, hidden, exposed, wait, transfer; mean of the ranks. And above
/// them compute, copies alone, idle. Wait and transfer are not known where no last arrival is.
analysis::FigureTable parts_of(const Selection&);
/// A row for each name: how often and how long it ran, mean of the ranks.
analysis::FigureTable names_of(const Selection&, std::size_t most);

/// The parts of two selections and their differences, a row each: compute, copies alone, idle, communication, and of
/// that by mode what is exposed, waits and transfers. Means of the ranks of either side.
analysis::FigureTable parts_change(const Selection& baseline, const Selection& candidate);

/// The names in either of two selections, those first whose time differs most.
analysis::FigureTable names_change(const Selection& baseline, const Selection& candidate, std::size_t most);

}  // namespace underlap::viewer
