// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "profiler/attribution/attribution.hpp"
#include "profiler/graph/details/details.hpp"
#include "profiler/input/trace_files.hpp"
#include "profiler/input/trace_input.hpp"

namespace underlap::graph {
namespace {

using testing::ElementsAre;
using testing::Pair;

// Traces by hand whose right answers are known, of the folder that UNDERLAP_CASES names.
class Truth : public testing::Test {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("UNDERLAP_CASES");
    if (folder == nullptr) GTEST_SKIP() << "UNDERLAP_CASES is not set";
    folder_ = std::filesystem::path(folder) / "truth";
  }

  Details details_of(const std::vector<std::string>& names) const {
    std::vector<std::string> files;
    for (const std::string& name : names) files.push_back((folder_ / (name + ".json")).string());
    ReadingWatch watch;
    const input::CellTrace cell = input::read_cell(
        input::trace_files(files), [](const Trace&) { return attribution::AttributionOptions{}; }, watch);
    return find_details(cell.trace, *cell.summary.communications, cell.summary.shown_windows());
  }

 private:
  std::filesystem::path folder_;
};

TEST_F(Truth, SavesNothingWhereTheLaunchComesLate) {
  const Details details = details_of({"0_0", "1_1"});
  ASSERT_EQ(details.what_if.size(), 1U);
  EXPECT_EQ(details.what_if[0].name, "without dp");
  EXPECT_EQ(details.what_if[0].saved_ns(), 0);
}

TEST_F(Truth, SplitsAWaitAmongItsCauses) {
  const analysis::WaitReport waits = details_of({"b0", "b1", "b2"}).waits;
  EXPECT_EQ(waits.total.wait_ns, 600'000);
  EXPECT_THAT(waits.total.wait_ns_by_blamed_rank, ElementsAre(Pair(1, 150'000), Pair(2, 400'000)));
  EXPECT_EQ(waits.total.behind_transfer_ns, 50'000);
  EXPECT_EQ(waits.late_rank()->rank, 2);
}

TEST_F(Truth, NamesNoLateRankWithinTheUncertaintyOfClocks) {
  for (const auto& [files, unresolved_ns] :
       {std::pair{std::vector<std::string>{"single_0", "single_1"}, 20'000}, {{"half_0", "half_1"}, 15'000}}) {
    const analysis::WaitReport waits = details_of(files).waits;
    EXPECT_EQ(waits.total.unresolved_ns, unresolved_ns);
    EXPECT_EQ(waits.late_rank(), std::nullopt);
  }
}

}  // namespace
}  // namespace underlap::graph
