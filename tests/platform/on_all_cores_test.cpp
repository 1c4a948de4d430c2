// SPDX-License-Identifier: Apache-2.0
#include "platform/threads/on_all_cores.hpp"

#include <atomic>
#include <stdexcept>
#include <vector>

namespace underlap {
namespace {

TEST(OnAllCores, CallsEachOnce) {
  std::vector<std::atomic<int>> calls(100);
  on_all_cores(
      calls.size(), [&](std::size_t i) { ++calls[i]; }, 4);
  for (const std::atomic<int>& called : calls) EXPECT_EQ(called, 1);
}

TEST(OnAllCores, ThrowsWhatAWorkThrew) {
  EXPECT_THROW(on_all_cores(
                   8,
                   [](std::size_t i) {
                     if (i == 3) throw std::runtime_error("three");
                   },
                   4),
               std::runtime_error);
}

}  // namespace
}  // namespace underlap
