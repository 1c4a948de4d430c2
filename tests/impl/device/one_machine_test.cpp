// SPDX-License-Identifier: Apache-2.0
#include "impl/device/one_machine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

namespace underlap {
namespace {

TEST(OneMachine, WithoutJobsNothingIsBound) { EXPECT_EQ(one_machine_bound_ns({}), 0); }

TEST(OneMachine, OneJobIsItsHeadItsWorkAndItsTail) { EXPECT_EQ(one_machine_bound_ns({{3, 5, 7}}), 15); }

TEST(OneMachine, TheUrgentOneInterrupts) {
  // First come, first served would take 10 + 1 + 20.
  EXPECT_EQ(one_machine_bound_ns({{0, 10, 0}, {1, 1, 20}}), 22);
}

TEST(OneMachine, IdlesUntilTheNextHead) { EXPECT_EQ(one_machine_bound_ns({{0, 1, 0}, {100, 2, 0}}), 102); }

// Least head + sum of work + least tail over every subset.
std::int64_t by_subsets(const std::vector<MachineJob>& jobs) {
  std::int64_t most = 0;
  for (unsigned set = 1; set < 1U << jobs.size(); ++set) {
    std::int64_t head = std::numeric_limits<std::int64_t>::max();
    std::int64_t tail = head;
    std::int64_t work = 0;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      if ((set >> i & 1) == 0) continue;
      head = std::min(head, jobs[i].head);
      tail = std::min(tail, jobs[i].tail);
      work += jobs[i].work;
    }
    most = std::max(most, head + work + tail);
  }
  return most;
}

TEST(OneMachine, IsTheLargestOverAllSubsets) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    std::vector<MachineJob> jobs(1 + random() % 8);
    const auto below = [&](unsigned most) { return static_cast<std::int64_t>(random() % most); };
    for (MachineJob& job : jobs) job = {.head = below(30), .work = 1 + below(10), .tail = below(30)};
    EXPECT_EQ(one_machine_bound_ns(jobs), by_subsets(jobs)) << "round " << round;
  }
}

}  // namespace
}  // namespace underlap
