// SPDX-License-Identifier: Apache-2.0
// The reader of results.json.
#include "profiler/report/results.hpp"

#include <string_view>

#include "tests/fuzz/harness.hpp"
#include "tests/profiler/report/sample_results.hpp"
#include "tests/profiler/temporary_folder.hpp"

namespace underlap::fuzz {

std::vector<std::string> seeds() {
  const testing_support::TemporaryFolder folder;
  report::RunResults results;
  results.info.command = "underlap run \"a b.yaml\"";
  results.blocks_planned = results.blocks_done = 2;
  for (const bool overlaps : {false, true}) {
    std::vector<report::StepSample> samples;
    for (std::int32_t block = 0; block < 2; ++block)
      samples.push_back(report::step_of(block, 2 * block + 1, {report::split_of(80, 5, 15, 10)}));
    results.cells.push_back(report::cell_of(
        overlaps ? "on" : "off", {{"comm_overlap.overlap_grad_reduce", overlaps ? "true" : "false"}}, samples));
  }
  std::vector<std::string> inputs;
  for (const auto statistics : {report::Statistics::left_out, report::Statistics::included}) {
    report::write_results(folder / "", results, statistics);
    inputs.push_back(testing_support::read_text(folder / "results.json"));
  }
  return inputs;
}

void take(std::string_view text) {
  static const testing_support::TemporaryFolder folder;
  testing_support::write_text(folder / "results.json", text);
  report::read_results(folder / "");
}

}  // namespace underlap::fuzz
