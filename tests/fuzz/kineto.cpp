// SPDX-License-Identifier: Apache-2.0
// The reader of Kineto's JSON, and what `underlap analyze` and the viewer do with whatever it makes of a text.
#include <algorithm>
#include <filesystem>
#include <string_view>

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

void take(std::string_view text) { analyze(testing_support::read_kineto_text(text)); }

}  // namespace underlap::fuzz
