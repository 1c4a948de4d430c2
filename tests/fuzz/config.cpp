// SPDX-License-Identifier: Apache-2.0
// The reader of configurations, with all rules that a plan is made by.
#include <algorithm>
#include <filesystem>
#include <string_view>

#include "impl/plan/plan.hpp"
#include "tests/fuzz/harness.hpp"
#include "tests/profiler/temporary_folder.hpp"

namespace underlap::fuzz {

std::vector<std::string> seeds() {
  namespace fs = std::filesystem;
  std::vector<std::string> inputs{testing_support::read_text(UNDERLAP_SOURCE_DIR "/bench/matrices/quick.yaml")};
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(UNDERLAP_SOURCE_DIR "/tests/data/plan"))
    if (fs::file_size(entry.path() / "input.yaml") < 2000) files.push_back(entry.path() / "input.yaml");
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) inputs.push_back(testing_support::read_text(file));
  return inputs;
}

void take(std::string_view text) { plan::parse(std::string(text), "config.yaml"); }

}  // namespace underlap::fuzz
