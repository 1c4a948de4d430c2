// SPDX-License-Identifier: Apache-2.0
// Reads JSON of rocprofv3, XLA and torch_npu, and runs the analysis of `underlap analyze` and the viewer on the
// result.
#include <string_view>

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
  analyze(formats::read_trace(folder / "trace_view.json"));
}

}  // namespace underlap::fuzz
