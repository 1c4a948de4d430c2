// SPDX-License-Identifier: Apache-2.0
#include "bench/machine/machine.hpp"

#include <gmock/gmock.h>

#include <sstream>

namespace underlap::bench {
namespace {

using ::testing::MatchesRegex;

TEST(MachineInfo, FillsWhatThisMachineAndBuildTell) {
  const report::RunInfo info = machine_info();
  EXPECT_THAT(info.started_utc, MatchesRegex("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z"));
  EXPECT_THAT(info.host_name_hash, MatchesRegex("[0-9a-f]{16}"));
  EXPECT_THAT(info.version, MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
  EXPECT_THAT(info.commit, MatchesRegex("unknown|.*[0-9a-f]{7,}(-dirty)?"));
  EXPECT_THAT(info.compiler, MatchesRegex("(GCC|Clang) [0-9]+\\..*"));
  EXPECT_GE(info.num_cpus, 1);
  for (const auto& [name, version] : info.library_versions)
    EXPECT_THAT(version, MatchesRegex("[0-9]+\\.[0-9.]+")) << name;
}

TEST(MachineInfo, ReadsCpuModelAndSystemName) {
  std::istringstream cpuinfo("processor\t: 0\nmodel\t\t: 25\nmodel name\t: A CPU: 2.0 GHz \nmodel name\t: other\n");
  EXPECT_EQ(cpu_model_from(cpuinfo), "A CPU: 2.0 GHz");
  std::istringstream os_release("NAME=\"Other\"\nPRETTY_NAME=\"Some Linux 12 (name)\"\n");
  EXPECT_EQ(os_name_from(os_release), "Some Linux 12 (name)");
}

TEST(MachineInfo, SaysUnknownWhereNothingIsToBeRead) {
  std::istringstream cpuinfo("processor: 0\n"), empty;
  EXPECT_EQ(cpu_model_from(cpuinfo), "unknown");
  EXPECT_EQ(os_name_from(empty), "unknown");
}

TEST(NameHash, IsFnv1aOf64Bits) {
  EXPECT_EQ(name_hash(""), "cbf29ce484222325");
  EXPECT_EQ(name_hash("a"), "af63dc4c8601ec8c");
}

}  // namespace
}  // namespace underlap::bench
