// SPDX-License-Identifier: Apache-2.0
// The reader of Kineto's JSON, and what `underlap analyze` and the viewer do with whatever it makes of a text.
#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <string_view>

#include "profiler/analysis/analysis.hpp"
#include "tests/fuzz/harness.hpp"
#include "tests/fuzz/look_at.hpp"
#include "tests/profiler/formats/kineto_text.hpp"

namespace underlap::fuzz {

std::vector<std::string> seeds() {
  namespace fs = std::filesystem;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(UNDERLAP_SOURCE_DIR "/tests/data/kineto"))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<std::string> inputs;
  for (const fs::path& file : files) inputs.push_back(testing_support::read_text(file));
  return inputs;
}

}  // namespace underlap::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace underlap;  // NOLINT
  try {
    const Trace trace = testing_support::read_kineto_text({reinterpret_cast<const char*>(data), size});
    const analysis::Summary summary = analysis::summarise(trace);
    analysis::analysis_json(trace, summary);
    analysis::analysis_table(trace, summary, {.width = 80});
    fuzz::look_at(trace, summary);
  } catch (const std::invalid_argument&) {
    return 0;  // refused, in words
  }
  return 0;
}
