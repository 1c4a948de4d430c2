// SPDX-License-Identifier: Apache-2.0
// Loads what this machine has of the GPU's libraries, which the sanitizers know nothing of.
#include "tests/bench/commands/program.hpp"

namespace underlap::bench {
namespace {

TEST(GpuLibraries, AreListedWhereTheyAreAndTheOthersWithWhereItLooked) {
  const Outcome outcome = expect_success({"list", "libraries"});
  for (const char* name : {"driver", "cuBLASLt", "cuDNN", "NCCL", "CUPTI"}) EXPECT_THAT(outcome.out, HasSubstr(name));
  const bool is_missing = outcome.out.find("missing") != std::string::npos;
  EXPECT_EQ(is_missing, outcome.out.find("Searched: ") != std::string::npos);
}

}  // namespace
}  // namespace underlap::bench
