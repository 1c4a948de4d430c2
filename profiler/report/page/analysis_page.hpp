// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "platform/text/titled_table.hpp"
#include "profiler/analysis/trace_summary.hpp"
#include "profiler/page/html.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::report {

/// The analysis of one job or cell on a page.
struct AnalysisPart {
  std::string cell;  ///< empty for the traces of one job
  std::string files;
  std::string html;
};

/// The markup of a part: the answer, bars of ranks and modes, late ranks, reasons, the timeline of the median step, all
/// tables, then `more`, and warnings about the trace. `level` is that of its headings. The summary has the exposure
/// reasons.
std::string analysis_part(const Trace&, const analysis::Summary&, const std::vector<TitledTable>& more, int level);

/// The page of an analysis: its parts with links to each, the terms, and facts such as command, version and files.
std::string analysis_html(const std::vector<AnalysisPart>& parts, const std::vector<page::Fact>& facts);

}  // namespace underlap::report
