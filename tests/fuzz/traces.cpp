// SPDX-License-Identifier: Apache-2.0
// Trace readers, and what `underlap analyze` and the viewer do with whatever they make of a file.
#include <string_view>
#include <vector>

#include "profiler/analysis/analysis.hpp"
#include "profiler/analysis/arrivals.hpp"
#include "profiler/formats/format.hpp"
#include "tests/fuzz/harness.hpp"
#include "tests/fuzz/look_at.hpp"
#include "tests/profiler/random_trace.hpp"
#include "tests/profiler/temporary_folder.hpp"

namespace underlap::fuzz {
namespace {

void analyze_with_and_without_marks(Trace trace) {
  const analysis::Summary summary = analysis::summarize(trace);
  analysis::analysis_json(trace, summary);
  analysis::analysis_table(trace, summary, {.width = 80});
  for (const analysis::RankSummary& rank : summary.ranks)
    if (!rank.windows.empty() && summary.has_steps)
      analysis::text_timeline(trace, {.block = rank.windows[0].block, .step = rank.windows[0].step, .width = 60});
  analysis::find_arrivals(trace, analysis::align_clocks(trace));
  trace.marks.clear();
  const analysis::Summary unmarked = analysis::match_and_summarize(trace, analysis::find_steps(trace));
  std::vector<analysis::Breakdown> all;
  for (int by = 0; by < analysis::kNumBreakdowns; ++by) all.push_back(static_cast<analysis::Breakdown>(by));
  analysis::analysis_json(trace, unmarked, {}, all);
  analysis::analysis_table(trace, unmarked, {.width = 80}, all);
  for (const analysis::Breakdown by : all) analysis::csv(analysis::breakdown(trace, unmarked, by));
  look_at(trace, unmarked);
}

}  // namespace

std::vector<std::string> seeds() {
  const testing_support::TemporaryFolder folder;
  std::vector<std::string> inputs{
      testing_support::read_text(UNDERLAP_SOURCE_DIR "/tests/data/traces/bucket_and_chunk_in_one_number.pftrace.zst")};
  std::mt19937 random(1);
  for (const char* file : {"t.pftrace", "t.pftrace.zst"})
    for (const std::int32_t slices : {3, 12}) {
      formats::write_trace(folder / file, testing_support::random_trace(random, {.num_slices = slices}));
      inputs.push_back(testing_support::read_text(folder / file));
    }
  return inputs;
}

void take(std::string_view bytes) {
  static const testing_support::TemporaryFolder folder;
  testing_support::write_text(folder / "trace", bytes);
  analyze_with_and_without_marks(formats::read_trace(folder / "trace"));
}

}  // namespace underlap::fuzz
