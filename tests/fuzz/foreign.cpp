// SPDX-License-Identifier: Apache-2.0
// Reads JSON of rocprofv3, XLA and torch_npu, and runs the analysis of `underlap analyze` and the viewer on the
// result.
#include <string_view>

#include "profiler/analysis/analysis.hpp"
#include "profiler/attribution/attribution.hpp"
#include "profiler/formats/format.hpp"
#include "tests/fuzz/harness.hpp"
#include "tests/fuzz/look_at.hpp"
#include "tests/profiler/formats/made_up_steps.hpp"
#include "tests/profiler/temporary_folder.hpp"

namespace underlap::fuzz {

std::vector<std::string> seeds() {
  using namespace testing_support;
  return {rocprof_file({rocprof_process()}), rocprof_file({rocprof_process(1, 0), rocprof_process(2, 1)}), jax_file(2),
          ascend_file(), ascend_file("HCCL", false)};
}

void take(std::string_view text) {
  static const testing_support::TemporaryFolder folder;
  testing_support::write_text(folder / "trace_view.json", text);
  Trace trace = formats::read_trace(folder / "trace_view.json");
  attribution::attribute(trace);
  const analysis::Summary summary = analysis::match_and_summarise(trace, analysis::find_steps(trace));
  analysis::analysis_json(trace, summary);
  analysis::analysis_table(trace, summary, {.width = 80});
  look_at(trace, summary);
}

}  // namespace underlap::fuzz
