// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

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

/// Splits [begin_ns, end_ns) of the timeline, of `ranks` (all where it is empty). In the time of what is selected.
Selection select(const Timeline&, std::int64_t begin_ns, std::int64_t end_ns,
                 const std::vector<std::int32_t>& ranks = {});

/// A row for each mode with communication: communication, exposed, wait, transfer; mean of the ranks. And above them
/// compute, copies alone, idle. Wait and transfer are not known where no last arrival is.
analysis::FigureTable parts_of(const Selection&);
/// A row for each name: how often and how long it ran, mean of the ranks.
analysis::FigureTable names_of(const Selection&, std::size_t most);

}  // namespace underlap::viewer
