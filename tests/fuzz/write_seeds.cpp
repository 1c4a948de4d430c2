// SPDX-License-Identifier: Apache-2.0
// Gives libFuzzer the seeds of its reader: files in the folder that UNDERLAP_FUZZ_SEEDS names.
#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/fuzz/harness.hpp"
#include "tests/profiler/temporary_folder.hpp"

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  const char* folder = std::getenv("UNDERLAP_FUZZ_SEEDS");
  if (folder == nullptr) return 0;
  std::size_t number = 0;
  for (const std::string& seed : underlap::fuzz::seeds())
    underlap::testing_support::write_text(std::filesystem::path(folder) / ("seed-" + std::to_string(number++)), seed);
  return 0;
}
