// SPDX-License-Identifier: Apache-2.0
#include "bench/verify/numerics_labels.hpp"

#include <functional>
#include <limits>
#include <tuple>

#include "tests/testing.hpp"

namespace underlap::bench {
namespace {

using report::NumericsLabel;

// A matrix of made-up cells: axis overlap off or both, and what else a test changes.
class LossLabels : public testing::Test {
 protected:
  void add(std::string overlap, std::vector<double> losses, const std::function<void(plan::Config&)>& change = {}) {
    plan::Cell& cell = cells_.emplace_back();
    cell.plan.config.ddp.overlap_grad_reduce = overlap == "both";
    report::CellResult& result = results_.emplace_back();
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
  /// Of the second of two cells, whose losses differ in the last bits.
  NumericsLabel label_of_pair(const std::function<void(plan::Config&)>& off,
                              const std::function<void(plan::Config&)>& both) {
    cells_.clear();
    results_.clear();
    add("off", {5, 4}, off);
    add("both", {5, 4.0001}, both);
    label();
    return of(1);
  }
  NumericsLabel of(std::size_t cell) const { return results_[cell].label; }

  std::vector<plan::Cell> cells_;
  std::vector<report::CellResult> results_;
};

TEST_F(LossLabels, OverlapMustLeaveEveryBit) {
  add("off", {5, 4, 3});
  add("both", {5, 4, 3});
  EXPECT_THAT(label(), IsEmpty());
  EXPECT_EQ(of(0), NumericsLabel::reference);
  EXPECT_EQ(of(1), NumericsLabel::bit_identical);
  *results_[1].samples[2].loss += 1e-12;
  EXPECT_THAT(label(), ElementsAre(HasSubstr("overlap, which changes no bit")));
  EXPECT_EQ(of(1), NumericsLabel::mismatch);
}

TEST_F(LossLabels, WithClippingTheSumOfTheNormMayBeReordered) {
  add("off", {5, 4}, [](plan::Config& c) { c.optimizer.clip_grad = 1; });
  add("both", {5, 4.0001}, [](plan::Config& c) { c.optimizer.clip_grad = 1; });
  EXPECT_THAT(label(), IsEmpty());
  EXPECT_EQ(of(1), NumericsLabel::reordered);
}

TEST_F(LossLabels, AttentionOnGpusAddsInAnyOrderButInDeterministicMode) {
  for (const auto& [backend, deterministic, expected] : {std::tuple(Backend::cuda, false, NumericsLabel::reordered),
                                                         std::tuple(Backend::cuda, true, NumericsLabel::mismatch),
                                                         std::tuple(Backend::host, false, NumericsLabel::mismatch),
                                                         std::tuple(Backend::sim, false, NumericsLabel::mismatch)}) {
    const auto change = [&](plan::Config& c) {
      c.run.backend = backend;
      c.model.deterministic_mode = deterministic;
    };
    EXPECT_EQ(label_of_pair(change, change), expected) << to_string(backend) << deterministic;
  }
  cells_.clear();
  results_.clear();
  add("off", {5, 4}, [](plan::Config& c) { c.run.backend = Backend::cuda; });
  add("both", {5, 4.1}, [](plan::Config& c) { c.run.backend = Backend::cuda; });
  EXPECT_THAT(label(), ElementsAre(HasSubstr("at most 2e-03 is explained by a different summation order")));
}

// A matrix of an off cell and one that overlaps `slot` by `method`, whose losses differ in the last bits.
class TensorLossLabels : public LossLabels {
 protected:
  NumericsLabel label_of(Backend backend, int ranks, plan::TensorSlot slot, plan::TensorMethod method) {
    const auto group = [&](plan::Config& c) {
      c.run.backend = backend;
      c.model.deterministic_mode = true;
      c.parallel.tensor_model_parallel_size = ranks;
    };
    return label_of_pair(group, [&](plan::Config& c) {
      group(c);
      c.tensor_overlap[slot].method = method;
    });
  }
};

TEST_F(TensorLossLabels, OnGpusAReduceScatterBesideAGemmMayTakeAnotherAlgorithm) {
  using enum plan::TensorSlot;
  using enum plan::TensorMethod;
  EXPECT_EQ(label_of(Backend::cuda, 3, fc2_fprop, pipeline), NumericsLabel::reordered);
  EXPECT_EQ(label_of(Backend::cuda, 8, fc1_dgrad, pipeline), NumericsLabel::reordered);
  EXPECT_EQ(label_of(Backend::cuda, 4, qkv_wgrad, bulk), NumericsLabel::reordered);
}

TEST_F(TensorLossLabels, ARingThatReducesAddsInItsOwnOrder) {
  using enum plan::TensorSlot;
  using enum plan::TensorMethod;
  for (const auto slot : {proj_fprop, fc2_fprop, qkv_dgrad, fc1_dgrad})
    EXPECT_EQ(label_of(Backend::host, 2, slot, ring_exchange), NumericsLabel::reordered);
  EXPECT_EQ(label_of(Backend::host, 1, fc2_fprop, ring_exchange), NumericsLabel::mismatch)
      << "a rank alone sums nothing";
}

TEST_F(TensorLossLabels, OtherwiseBulkAndPipelineMoveNoBit) {
  using enum plan::TensorSlot;
  using enum plan::TensorMethod;
  EXPECT_EQ(label_of(Backend::cuda, 2, fc2_fprop, pipeline), NumericsLabel::mismatch) << "two ranks have one order";
  EXPECT_EQ(label_of(Backend::host, 4, fc2_fprop, pipeline), NumericsLabel::mismatch);
  EXPECT_EQ(label_of(Backend::sim, 4, qkv_wgrad, bulk), NumericsLabel::mismatch);
  EXPECT_EQ(label_of(Backend::cuda, 4, qkv_dgrad, bulk), NumericsLabel::mismatch) << "a gather sums nothing";
  EXPECT_EQ(label_of(Backend::cuda, 4, fc1_fprop, ring_exchange), NumericsLabel::mismatch);
  EXPECT_EQ(label_of(Backend::cuda, 4, fc2_fprop, nccl), NumericsLabel::mismatch);
}

TEST_F(TensorLossLabels, AReductionThatTravelsAsFp8IsOfLowerPrecision) {
  const auto tensor = [](plan::Config& c) { c.parallel.tensor_model_parallel_size = 2; };
  const auto fp8_buf = [&](bool in_fp8) {
    return [=](plan::Config& c) {
      tensor(c);
      c.tensor_overlap[plan::TensorSlot::fc2_fprop] = {.method = plan::TensorMethod::pipeline, .fp8_buf = in_fp8};
      c.tensor_overlap[plan::TensorSlot::qkv_fprop].fp8_buf = true;  // gathers always are
    };
  };
  add("off", {5, 4}, tensor);
  add("both", {5, 4.01}, fp8_buf(true));
  EXPECT_THAT(label(), IsEmpty());
  EXPECT_EQ(of(1), NumericsLabel::lower_precision);
  fp8_buf(false)(cells_[1].plan.config);
  EXPECT_THAT(label(), ElementsAre(HasSubstr("overlap, which changes no bit")));
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

TEST_F(LossLabels, AReferenceWhoseLossIsNotFiniteIsAMismatch) {
  add("off", {5, std::numeric_limits<double>::infinity()});
  EXPECT_THAT(label(), ElementsAre(HasSubstr("the loss is infinite in block ")));
  EXPECT_EQ(of(0), NumericsLabel::mismatch);
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
