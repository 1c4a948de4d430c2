// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "profiler/analysis/analysis.hpp"
#include "profiler/attribution/attribution.hpp"
#include "profiler/graph/exposure_causes.hpp"
#include "profiler/trace/trace.hpp"
#include "viewer/timeline/pieces.hpp"
#include "viewer/timeline/selection.hpp"
#include "viewer/timeline/slice_facts.hpp"
#include "viewer/timeline/slice_search.hpp"
#include "viewer/timeline/timeline.hpp"

namespace underlap::fuzz {

/// Whatever the viewer asks of a trace, short of drawing it.
inline void look_at(const Trace& trace, const analysis::Summary& summary) {
  const viewer::Timeline timeline(trace, summary, 1);
  const auto length = static_cast<double>(std::max<std::int64_t>(timeline.length_ns(), 1));
  std::vector<viewer::Piece> pieces;
  for (const viewer::Lane& lane : timeline.lanes())
    for (const viewer::LaneRow& row : lane.rows)
      for (const double zoom : {1.0, 7.0, 1000.0})
        viewer::find_pieces(row.segments, {length / 3, length / zoom / 200, 200}, pieces);
  for (std::uint32_t slice = 0; slice < std::min<std::size_t>(trace.size(), 20); ++slice) {
    viewer::facts_of(timeline, summary, slice);
    viewer::members_of(summary, slice);
    viewer::next_of(timeline, viewer::find_alike(timeline, slice), slice, viewer::Towards::later);
  }
  viewer::find_slices(timeline, viewer::parse_query("a exposed"));
  viewer::parts_of(viewer::select(timeline, timeline.length_ns() / 4, timeline.length_ns() / 2));
}

/// Does everything that `underlap analyze` and the viewer do with a trace of another program.
inline void analyze(Trace trace) {
  attribution::attribute(trace);
  const std::vector<analysis::ExposureCause> causes = graph::find_exposure_causes(trace);
  analysis::Summary summary = analysis::match_and_summarize(trace, analysis::find_steps(trace));
  summary.reasons = analysis::find_exposure_reasons(trace, causes, summary.shown_windows());
  analysis::analysis_json(trace, summary);
  analysis::analysis_table(trace, summary, {.width = 80});
  look_at(trace, summary);
}

}  // namespace underlap::fuzz
