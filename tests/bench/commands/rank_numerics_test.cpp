// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/commands/program.hpp"

namespace underlap::bench {
namespace {

TEST(RankProcesses, GiveTheLossesOfThreadsToTheBit) {
  const TemporaryFolder folder;
  const auto measured = [&](const std::string& rank_processes) {
    const std::string into = folder / rank_processes;
    expect_success({"run", UNDERLAP_SOURCE_DIR "/bench/matrices/quick.yaml", "-o", into, "--blocks", "1", "--steps",
                    "2", "--warmup", "1", "--rank-processes", rank_processes});
    return report::read_results(into);
  };
  const report::RunResults threads = measured("false");
  const report::RunResults processes = measured("true");
  ASSERT_EQ(threads.cells.size(), 10U);
  for (std::size_t c = 0; c < threads.cells.size(); ++c) {
    EXPECT_EQ(processes.cells[c].warmup_losses, threads.cells[c].warmup_losses);
    EXPECT_EQ(processes.cells[c].label, threads.cells[c].label);
    ASSERT_EQ(processes.cells[c].samples.size(), threads.cells[c].samples.size());
    for (std::size_t s = 0; s < threads.cells[c].samples.size(); ++s)
      EXPECT_EQ(processes.cells[c].samples[s].loss, threads.cells[c].samples[s].loss);
  }
}

}  // namespace
}  // namespace underlap::bench
