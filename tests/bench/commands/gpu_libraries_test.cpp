// SPDX-License-Identifier: Apache-2.0
// Loads what this machine has of the GPU's libraries, which the sanitizers know nothing of.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/bench/commands/program.hpp"

namespace underlap::bench {
namespace {

using ::testing::HasSubstr;

TEST(GpuLibraries, AreListedWhereTheyAreAndTheOthersWithWhereItLooked) {
  const Outcome outcome = underlap_program({"list", "libraries"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* name : {"driver", "cuBLASLt", "cuDNN", "NCCL", "CUPTI"}) EXPECT_THAT(outcome.out, HasSubstr(name));
  const bool is_missing = outcome.out.find("missing") != std::string::npos;
  EXPECT_EQ(is_missing, outcome.out.find("Looked in: ") != std::string::npos);
}

}  // namespace
}  // namespace underlap::bench
