// SPDX-License-Identifier: Apache-2.0
#include "research/studies/gemm_times.hpp"

#include <gmock/gmock.h>

#include "impl/device/sim/hardware.hpp"
#include "platform/json.hpp"
#include "tests/research/studies/study_testing.hpp"

namespace underlap::bench {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<GemmTable> shipped_tables() {
  return study_testing::shipped(parse_gemm_tables, "results/gemms/tables.yaml");
}

/// A table on A100 whose points are `points`.
std::string gemm_table(const std::string& name, const std::string& use, const std::string& points) {
  return "  - name: " + name +
         "\n    hardware: a100-sxm\n    dtype: bf16\n    operands: random\n    timing: short\n    use: " + use +
         "\n    source: made up\n    points: [" + points + "]\n";
}

std::string gemm_study(const std::string& points) {
  return "study: gemm_times\ntables:\n" + gemm_table("a", "held_against", points);
}

std::vector<std::string> texts_of(const std::vector<TableCell>& cells) {
  std::vector<std::string> out;
  for (const TableCell& cell : cells) out.push_back(cell.text);
  return out;
}

TEST(GemmTimes, AreThoseOfTheProgramsOwnOperations) {
  const GemmPoint point{.m = 512, .n = 256, .k = 128, .tflops = 1};
  const Cost bf16 = gemm_cost(Precision::bf16, point), fp8 = gemm_cost(Precision::fp8, point);
  EXPECT_EQ(bf16.work, Work::gemm);
  EXPECT_EQ(bf16.precision, Precision::bf16);
  EXPECT_THAT(bf16.extent, ElementsAre(512, 256, 128));
  EXPECT_EQ(bf16.flops, point.flops());
  EXPECT_EQ(bf16.bytes_read, 2 * (512 * 128 + 256 * 128));
  EXPECT_EQ(bf16.bytes_written, 2 * 512 * 256);
  EXPECT_EQ(fp8.precision, Precision::fp8);
  EXPECT_THAT(fp8.extent, ElementsAre(512, 256, 128));
  EXPECT_EQ(fp8.bytes_read, 512 * 128 + 256 * 128);
  EXPECT_EQ(fp8.bytes_written, 2 * 512 * 256) << "the product is bf16";
}

TEST(GemmTimes, AreHeldAgainstTheDescription) {
  const auto tables = parse_gemm_tables(gemm_study("{m: 8192, n: 8192, k: 8192, tflops: 200}"), "a.yaml");
  const std::vector<GemmRow> rows = compare_gemm_times(tables);
  ASSERT_EQ(rows.size(), 1U);
  // 4096 tiles in 38 waves of 108.
  const sim::Hardware a100 = sim::load_hardware("a100-sxm");
  const double sm_flops_per_us = a100.gpu.bf16_tflops.value * 1e6 / 108 * a100.kernels.gemm_bf16.curve(8192);
  const double expected_us = a100.gpu.kernel_overhead_us.value + 38 * 2.0 * 128 * 128 * 8192 / sm_flops_per_us;
  EXPECT_NEAR(rows[0].model_us, expected_us, 1e-6 * expected_us);
  const double published_us = 2 * 8192.0 * 8192 * 8192 / 200e6;
  EXPECT_DOUBLE_EQ(rows[0].point.time_us(), published_us);
  EXPECT_NEAR(rows[0].error(), expected_us / published_us - 1, 1e-6);
  EXPECT_NEAR(rows[0].model_tflops(), 200 / (1 + rows[0].error()), 1e-6);
}

TEST(GemmTimes, BeginWithTablesThatNoCurveWasMadeFrom) {
  const std::string point = "{m: 64, n: 64, k: 64, tflops: 1}";
  const auto tables =
      parse_gemm_tables("study: gemm_times\ntables:\n" + gemm_table("a", "made_from", point) +
                            gemm_table("b", "held_against", point) + gemm_table("c", "made_from", point),
                        "a.yaml");
  const std::vector<GemmRow> rows = compare_gemm_times(tables);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].table->name, "b");
  EXPECT_EQ(rows[1].table->name, "a");
  EXPECT_EQ(rows[2].table->name, "c");
  const std::string report = gemm_times_markdown(rows);
  EXPECT_THAT(report, HasSubstr("1 of the 3 points are from tables that were not used"));
  EXPECT_LT(report.find("- b: made up"), report.find("- a: made up"));
}

/// Rows of one table, each published to take 100 us where nothing else is said.
struct GemmReport : ::testing::Test {
  void add(std::int64_t k, double model_us, double published_us = 100) {
    const GemmPoint point{
        .m = 1024, .n = 1024, .k = k, .tflops = 2e-6 * 1024 * 1024 * static_cast<double>(k) / published_us};
    rows.push_back({&source, point, model_us});
  }
  GemmTable source{.name = "a", .hardware = "b200", .dtype = Precision::fp8, .source = "made up", .points = {}};
  std::vector<GemmRow> rows;
};

TEST_F(GemmReport, HasMedianMeanAndLargestErrorOfATable) {
  add(512, 90);
  add(1024, 100);
  add(4096, 130);
  EXPECT_THAT(texts_of(gemm_errors_table(rows).rows.at(0)), ElementsAre("a", "b200", "fp8", "not stated", "short", "3",
                                                                        "+0.0 %", "13.3 %", "+30.0 %", "3", "+0.0 %"));
}

TEST_F(GemmReport, SetsLongProductsApart) {
  add(512, 10, 20);
  EXPECT_THAT(texts_of(gemm_errors_table(rows).rows.at(0)),
              ElementsAre("a", "b200", "fp8", "not stated", "short", "1", "-50.0 %", "50.0 %", "-50.0 %", "0", "-"));
  EXPECT_TRUE(parse_json(gemm_times_json(rows))["tables"][0]["long_median_error"].is_null());
  add(512, 33, 30.001);
  EXPECT_EQ(gemm_errors_table(rows).rows.at(0).back().text, "+10.0 %");
}

TEST_F(GemmReport, HasTheMedianErrorByDepth) {
  add(512, 90);
  add(1023, 80);
  add(1024, 100);
  add(4096, 130);
  add(65536, 60);
  EXPECT_THAT(texts_of(gemm_depths_table(rows).rows.at(0)),
              ElementsAre("a", "-15.0 %", "+0.0 %", "-", "+30.0 %", "-40.0 %"));
}

TEST_F(GemmReport, HasEveryPoint) {
  add(1024, 125);
  EXPECT_THAT(texts_of(gemm_times_table(rows).rows.at(0)),
              ElementsAre("a", "b200", "1024", "1024", "1024", "21.5", "17.2", "+25.0 %", "held against"));
  const auto json = parse_json(gemm_times_json(rows));
  EXPECT_EQ(json["schema"], "underlap.gemm_times/1");
  EXPECT_EQ(json["tables"][0]["shapes"], 1);
  EXPECT_EQ(json["tables"][0]["operands"], "not_stated");
  EXPECT_DOUBLE_EQ(json["rows"][0]["error"], 0.25);
}

std::string with_text(std::string yaml, const std::string& what, const std::string& instead) {
  return yaml.replace(yaml.find(what), what.size(), instead);
}

TEST(GemmTableFile, TellsEveryErrorWithItsPlace) {
  const std::string good = gemm_study("{m: 64, n: 64, k: 64, tflops: 1}");
  EXPECT_EQ(study_testing::complaint(parse_gemm_tables, good), "");
  study_testing::expect_refused(
      parse_gemm_tables,
      {{with_text(good, "m: 64", "m: 0"), "a.yaml:10:18: m is \"0\""},
       {with_text(good, "k: 64", "k: 6.5"), "k is \"6.5\", must be a whole number"},
       {with_text(good, "tflops: 1", "tflops: -1"), "tflops is \"-1\""},
       {with_text(good, ", tflops: 1", ""), "a.yaml:10:14: a point has no tflops"},
       {with_text(good, "tflops", "tflop"), "did you mean tflops?"},
       {with_text(good, "a100-sxm", "a100"), "a.yaml:3:5: unknown hardware \"a100\"; available: a100-sxm"},
       {with_text(good, "bf16", "fp16"), "a.yaml:5:12: dtype is \"fp16\", must be bf16 or fp8"},
       {with_text(good, "bf16", "fp8"), "a100-sxm has no fp8 GEMM"},
       {with_text(with_text(good, "bf16", "fp8"), "k: 64", "k: 65"), "a.yaml:10:14: gemm_fp8: K is 65"},
       {with_text(good, "random", "zeros"), "must be random or not_stated"},
       {with_text(good, "short", "long"), "must be sustained or short"},
       {with_text(good, "held_against", "fitted"), "must be held_against or made_from"},
       {good + gemm_table("a", "made_from", "{m: 64, n: 64, k: 64, tflops: 1}"), "table \"a\" stands twice"},
       {"study: other\ntables: []\n", "study is \"other\", must be gemm_times"},
       {"study: gemm_times\n", "the study has no tables"},
       {good + "more: 1\n", "unknown key \"more\" in the study"},
       {"", "the file is empty"}});
}

TEST(ShippedGemms, AreOfDescribedHardwareAndOfNamedSources) {
  const std::vector<GemmTable> tables = shipped_tables();
  EXPECT_EQ(tables.size(), 24U);
  for (const GemmTable& table : tables) {
    EXPECT_THAT(sim::hardware_names(), Contains(table.hardware)) << table.name;
    EXPECT_THAT(table.source, HasSubstr("/")) << table.name << " names no repository";
  }
}

TEST(ShippedGemms, ReportHasEveryPointAndIsNotStale) {
  const std::vector<GemmTable> tables = shipped_tables();
  std::size_t points = 0;
  for (const GemmTable& table : tables) points += table.points.size();
  const std::vector<GemmRow> rows = compare_gemm_times(tables);
  EXPECT_EQ(rows.size(), points);
  EXPECT_EQ(points, 209U);
  study_testing::expect_page("results/gemms/report.md", gemm_times_markdown(rows));
  study_testing::expect_page("results/gemms/results.json", gemm_times_json(rows));
}

}  // namespace
}  // namespace underlap::bench
