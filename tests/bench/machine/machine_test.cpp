// SPDX-License-Identifier: Apache-2.0
#include "bench/machine/machine_info.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <chrono>
#include <sstream>

#include "bench/machine/cpu_load.hpp"

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

TEST(CpuLoad, CountsTheTicksOfUsableCpusAlone) {
  const std::string text =
      "cpu  999 9 9 9 9 9 9 9 9 9\ncpu0 100 20 3 5000 7 11 13 17 19 0\ncpu1 1000 2000 3000 1 1 1 1 4000 1 0\n"
      "cpu2 7 0 1 1 1 1 1 5 0 0\nintr 5\n";
  std::istringstream two(text), none(text), empty;
  EXPECT_EQ(ticks_of_cpus(two, {0, 2}).processes, 123 + 8);
  EXPECT_EQ(ticks_of_cpus(none, {}).processes, 0);
  EXPECT_EQ(ticks_of_cpus(empty, {0}).stolen, 0);
  std::istringstream again(text);
  EXPECT_EQ(ticks_of_cpus(again, {0, 2}).stolen, 17 + 5);
}

TEST(CpuLoad, ReadsAProcessWhateverItsName) {
  EXPECT_EQ(ticks_of_process("14732 (a) R) b) S 14728 1 2 0 -1 4194304 133 0 0 0 1000 200 30 4 20 0 1"), 1234);
  EXPECT_FALSE(ticks_of_process("14732 (cat) S 1 2"));
  EXPECT_FALSE(ticks_of_process(""));
}

TEST(CpuLoad, IsWhatOthersTookOfTheBlock) {
  report::BlockLoad load;
  add_load(load, {0, 2, 100, 5, 40}, {1000, 2, 1000, 8, 640});
  EXPECT_EQ(load.own_cpu_ns, 600);
  EXPECT_EQ(load.other_cpu_ns, 300);
  add_load(load, {2000, 2, 1000, 8, 640}, {2500, 2, 1190, 9, 840});
  EXPECT_EQ(load.other_cpu_ns, 290) << "ticks are coarse: what one misses another has";
  EXPECT_EQ(load.stolen_cpu_ns, 4);
  EXPECT_EQ(load.wall_ns, 1500);
}

TEST(CpuLoad, OfThisMachineCountsThisProcess) {
  const CpuTimes before = cpu_times();
  EXPECT_GE(before.cpus, 1);
  EXPECT_GT(before.own_ns, 0);
  EXPECT_GE(cpu_times().own_ns, before.own_ns);
}

// Processes that a launcher started belong to the run and are no children of its.
TEST(CpuLoad, CountsOtherProcessesWithTheirChildren) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
  while (std::chrono::steady_clock::now() < end) {
  }
  const std::vector<std::int64_t> parent{::getppid()};  // whose child this is
  const std::int64_t alone = cpu_times().own_ns;
  EXPECT_GT(cpu_times(parent).own_ns, alone + 20'000'000);
}

TEST(NameHash, IsFnv1aOf64Bits) {
  EXPECT_EQ(name_hash(""), "cbf29ce484222325");
  EXPECT_EQ(name_hash("a"), "af63dc4c8601ec8c");
}

}  // namespace
}  // namespace underlap::bench
