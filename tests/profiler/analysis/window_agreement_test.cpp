// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/window_agreement.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace underlap::analysis {
namespace {

using Lengths = std::vector<std::int64_t>;

TEST(WindowAgreement, IsTheMedianAndTheWorstRatio) {
  const WindowAgreement agreement = compare_windows(Lengths{102, 110, 101}, Lengths{100, 100, 100});
  EXPECT_EQ(agreement.count, 3U);
  EXPECT_DOUBLE_EQ(agreement.median_ratio, 1.02);
  EXPECT_DOUBLE_EQ(agreement.worst_ratio, 1.10);
  EXPECT_EQ(agreement.worst_index, 1U);
}

TEST(WindowAgreement, AWindowThatIsTooShortCanBeTheWorst) {
  const WindowAgreement agreement = compare_windows(Lengths{120, 50}, Lengths{100, 100});
  EXPECT_DOUBLE_EQ(agreement.worst_ratio, 0.5);
  EXPECT_EQ(agreement.worst_index, 1U);
  EXPECT_DOUBLE_EQ(agreement.median_ratio, 0.85);
}

TEST(WindowAgreement, EqualWindowsAgree) {
  const WindowAgreement agreement = compare_windows(Lengths{7, 9}, Lengths{7, 9});
  EXPECT_DOUBLE_EQ(agreement.worst_ratio, 1);
  EXPECT_EQ(agreement.worst_index, 0U);
}

TEST(WindowAgreement, RefusesListsThatCannotBeCompared) {
  EXPECT_THROW(compare_windows(Lengths{1, 2}, Lengths{1}), std::invalid_argument);
  EXPECT_THROW(compare_windows(Lengths{}, Lengths{}), std::invalid_argument);
  EXPECT_THROW(compare_windows(Lengths{1}, Lengths{0}), std::invalid_argument);
}

}  // namespace
}  // namespace underlap::analysis
