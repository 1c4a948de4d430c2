// SPDX-License-Identifier: Apache-2.0
#include "research/studies/reduction_error.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <stdexcept>

#include "platform/json.hpp"
#include "tests/research/studies/study_testing.hpp"

namespace underlap::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ReductionErrorStudy small_study() {
  ReductionErrorStudy study;
  study.group_sizes = {1, 2, 16, 128};
  study.elements = 5000;  // more than one block of elements
  return study;
}

const ReductionErrorRow& row(const std::vector<ReductionErrorRow>& rows, std::int32_t size, ReductionMethod method) {
  for (const ReductionErrorRow& r : rows)
    if (r.group_size == size && r.method == method) return r;
  throw std::out_of_range("no such row");
}

TEST(ReductionError, RingErrorGrowsWithTheGroupAndFp32SumsDoNot) {
  using enum ReductionMethod;
  const auto rows = run_reduction_error(small_study());
  ASSERT_EQ(rows.size(), 12U);
  const double ring_16 = row(rows, 16, bf16_wire_bf16_sum).relative_l2_error;
  const double ring_128 = row(rows, 128, bf16_wire_bf16_sum).relative_l2_error;
  EXPECT_GT(ring_16, 1.4 * row(rows, 2, bf16_wire_bf16_sum).relative_l2_error);
  EXPECT_GT(ring_128, 1.7 * ring_16);
  EXPECT_LT(row(rows, 128, bf16_wire_fp32_sum).relative_l2_error, ring_128 / 4);
  EXPECT_LT(row(rows, 128, fp32).relative_l2_error, 1e-5);
}

TEST(ReductionError, GroupOfOneHasTheErrorOfOneRounding) {
  const auto rows = run_reduction_error(small_study());
  const double once = row(rows, 1, ReductionMethod::bf16_wire_bf16_sum).relative_l2_error;
  EXPECT_GT(once, std::exp2(-9) / 4);
  EXPECT_LT(once, std::exp2(-9)) << "half a unit in the last of 8 bits, at most";
  EXPECT_EQ(row(rows, 1, ReductionMethod::bf16_wire_fp32_sum).relative_l2_error, once);
  EXPECT_EQ(row(rows, 1, ReductionMethod::fp32).relative_l2_error, 0);
}

TEST(ReductionError, EqualGradientsShrinkInALongRing) {
  // Without noise every rank adds the same value; once the sum is 256 times as large, additions are rounded away.
  ReductionErrorStudy study = small_study();
  study.noise_to_signal = 0;
  study.group_sizes = {1024};
  study.elements = 500;
  const auto rows = run_reduction_error(study);
  EXPECT_LT(rows[0].bias, -0.3);
  EXPECT_NEAR(rows[1].bias, 0, 1e-3);
}

TEST(ReductionError, SameSeedsSameRowsOtherSeedsOthers) {
  ReductionErrorStudy study = small_study();
  const double first = run_reduction_error(study)[5].relative_l2_error;
  EXPECT_EQ(run_reduction_error(study)[5].relative_l2_error, first);
  study.seeds = {9};
  EXPECT_NE(run_reduction_error(study)[5].relative_l2_error, first);
}

TEST(ReductionError, GroupSizesDoNotDisturbEachOther) {
  ReductionErrorStudy study = small_study();
  study.group_sizes = {128, 2};
  const auto both = run_reduction_error(study);
  const auto all = run_reduction_error(small_study());
  EXPECT_EQ(both[3].relative_l2_error, all[3].relative_l2_error);
  EXPECT_EQ(both[0].relative_l2_error, all[9].relative_l2_error);
}

TEST(ReductionError, RefusesFieldsOutOfRange) {
  const auto refused = [](auto change) {
    ReductionErrorStudy study;
    change(study);
    EXPECT_THROW(run_reduction_error(study), std::invalid_argument);
  };
  refused([](auto& s) { s.group_sizes.clear(); });
  refused([](auto& s) { s.group_sizes = {0}; });
  refused([](auto& s) { s.elements = 0; });
  refused([](auto& s) { s.seeds.clear(); });
  refused([](auto& s) { s.noise_to_signal = std::nan(""); });
  refused([](auto& s) { s.scale_median = 0; });
}

TEST(ReductionErrorStudyFile, ShippedFileIsThatStudyWithTheDefaults) {
  const ReductionErrorStudy read =
      study_testing::shipped(parse_reduction_error_study, "bench/matrices/dp_reduction_error.yaml");
  const ReductionErrorStudy defaults;
  EXPECT_EQ(read.group_sizes, defaults.group_sizes);
  EXPECT_EQ(read.elements, defaults.elements);
  EXPECT_EQ(read.seeds, defaults.seeds);
  EXPECT_EQ(read.noise_to_signal, defaults.noise_to_signal);
  EXPECT_EQ(read.scale_median, defaults.scale_median);
  EXPECT_EQ(read.scale_log_sigma, defaults.scale_log_sigma);
}

TEST(ReductionErrorStudyFile, ReadsEveryKey) {
  const auto study = parse_reduction_error_study(
      "study: dp_reduction_error\ngroup_sizes: [3]\nelements: 10\nseeds: [18446744073709551615, 7]\n"
      "gradient: {noise_to_signal: 0, scale_median: 2, scale_log_sigma: 0.5}\n",
      "a.yaml");
  EXPECT_THAT(study.group_sizes, ElementsAre(3));
  EXPECT_EQ(study.elements, 10);
  EXPECT_THAT(study.seeds, ElementsAre(~0ULL, 7U));
  EXPECT_EQ(study.noise_to_signal, 0);
  EXPECT_EQ(study.scale_median, 2);
  EXPECT_EQ(study.scale_log_sigma, 0.5);
}

TEST(ReductionErrorStudyFile, TellsEveryErrorWithItsPlace) {
  EXPECT_EQ(study_testing::complaint(parse_reduction_error_study,
                                     "study: dp_reduction_error\ngroup_sizes: [2, 0]\nelement: 5\nelements: many\n"
                                     "gradient:\n  noise_to_signal: -1\n  noise_to_signal: 1\nseeds: [-1]\n"),
            "a.yaml:2:18: \"0\" must be a whole number from 1 to 4096\n"
            "a.yaml:3:1: unknown key \"element\"; known: elements, gradient, group_sizes, seeds, study\n"
            "a.yaml:4:11: \"many\" must be a whole number from 1 to 1073741824\n"
            "a.yaml:6:20: \"-1\" must be a number from 0 to 1000000\n"
            "a.yaml:7:3: noise_to_signal stands twice\n"
            "a.yaml:8:9: \"-1\" must be a whole number from 0 to 18446744073709551615");
  study_testing::expect_refused(parse_reduction_error_study,
                                {{"seeds: []", "a.yaml:1:8: must be a list of at least one value"},
                                 {"gradient: 3", "a.yaml:1:11: must be a map"},
                                 {"study: other", "a.yaml:1:8: study must be dp_reduction_error"},
                                 {"a: [1", "a.yaml:"}});
}

TEST(ReductionErrorReport, GivesRowsAsJsonAndMarkdown) {
  ReductionErrorStudy study = small_study();
  study.group_sizes = {2};
  const auto rows = run_reduction_error(study);
  const auto document = parse_json(reduction_error_json(study, rows));
  EXPECT_EQ(document["schema"], "underlap.reduction_error/1");
  EXPECT_EQ(document["study"]["elements"], 5000);
  EXPECT_EQ(document["rows"][1]["method"], "bf16_wire_fp32_sum");
  EXPECT_EQ(document["rows"][1]["relative_l2_error"], rows[1].relative_l2_error);
  EXPECT_THAT(reduction_error_markdown(study, rows), HasSubstr("| 2 | bf16_wire_bf16_sum | "));
}

}  // namespace
}  // namespace underlap::bench
