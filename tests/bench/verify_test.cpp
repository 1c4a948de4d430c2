// SPDX-License-Identifier: Apache-2.0
#include "bench/verify.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <functional>

namespace underlap::bench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A matrix of made-up cells: axis overlap off or both, and what else a test changes.
class LossLabels : public testing::Test {
 protected:
  void add(std::string overlap, std::vector<double> losses, const std::function<void(plan::Config&)>& change = {}) {
    plan::Cell& cell = cells_.emplace_back();
    cell.plan.config.ddp.overlap_grad_reduce = overlap == "both";
    CellResult& result = results_.emplace_back();
    result.values = {{"overlap", overlap}};
    if (change) {
      change(cell.plan.config);
      result.values.emplace_back("change", "yes");
    }
    cell.name = result.name = overlap + (change ? " changed" : "");
    cell.values = result.values;
    result.no_comm = cell.plan.config.run.no_comm;
    for (std::size_t i = 0; i < losses.size(); ++i)
      result.samples.push_back(
          {.block = 0, .step = static_cast<std::int32_t>(i), .loss = losses[i], .transfer_cpu_ns = {}, .ranks = {}});
  }
  std::vector<std::string> label() { return label_numerics(cells_, results_); }
  NumericsLabel of(std::size_t cell) const { return results_[cell].label; }

  std::vector<plan::Cell> cells_;
  std::vector<CellResult> results_;
};

TEST_F(LossLabels, OverlapMustLeaveEveryBit) {
  add("off", {5, 4, 3});
  add("both", {5, 4, 3});
  EXPECT_THAT(label(), IsEmpty());
  EXPECT_EQ(of(0), NumericsLabel::reference);
  EXPECT_EQ(of(1), NumericsLabel::bit_identical);
  *results_[1].samples[2].loss += 1e-12;
  EXPECT_THAT(label(), ElementsAre(HasSubstr("overlap, which moves no bit")));
  EXPECT_EQ(of(1), NumericsLabel::mismatch);
}

TEST_F(LossLabels, WithClippingTheSumOfTheNormMayBeReordered) {
  add("off", {5, 4}, [](plan::Config& c) { c.optimizer.clip_grad = 1; });
  add("both", {5, 4.0001}, [](plan::Config& c) { c.optimizer.clip_grad = 1; });
  EXPECT_THAT(label(), IsEmpty());
  EXPECT_EQ(of(1), NumericsLabel::reordered);
}

TEST_F(LossLabels, LowerPrecisionIsHeldAgainstTheFirstCellWithinItsTolerance) {
  add("off", {5, 4});
  add("off", {5, 4.01}, [](plan::Config& c) { c.ddp.grad_reduce_in_fp32 = false; });
  EXPECT_THAT(label(), IsEmpty());
  EXPECT_EQ(of(1), NumericsLabel::lower_precision);
  results_[1].samples[1].loss = 5;
  EXPECT_EQ(label().size(), 1U);
}

TEST_F(LossLabels, ACellThatComputesSomethingElseIsItsOwnReference) {
  add("off", {5, 4});
  add("off", {5.5, 4.9}, [](plan::Config& c) { c.model.num_layers = 7; });
  add("both", {5.5, 4.9}, [](plan::Config& c) { c.model.num_layers = 7; });
  EXPECT_THAT(label(), IsEmpty());
  EXPECT_EQ(of(1), NumericsLabel::reference);
  EXPECT_EQ(of(2), NumericsLabel::bit_identical);
}

TEST_F(LossLabels, NotANumberIsNeverEqual) {
  add("off", {5, 4});
  add("both", {5, std::nan("")});
  EXPECT_EQ(label().size(), 1U);
}

TEST_F(LossLabels, ACellWithoutTransfersIsNotChecked) {
  add("off", {5, 4});
  add("off", {9, 9}, [](plan::Config& c) { c.run.no_comm = true; });
  EXPECT_THAT(label(), IsEmpty());
  EXPECT_EQ(of(1), NumericsLabel::not_checked);
}

TEST_F(LossLabels, ACellOverAnEmulatedLinkIsNotCheckedAndNobodysReference) {
  add("off", {9, 9}, [](plan::Config& c) { c.run.emulated_link = plan::EmulatedLink{}; });
  add("off", {5, 4});
  EXPECT_THAT(label(), IsEmpty());
  EXPECT_EQ(of(0), NumericsLabel::not_checked);
  EXPECT_EQ(of(1), NumericsLabel::reference);
}

}  // namespace
}  // namespace underlap::bench
