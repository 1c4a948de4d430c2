// SPDX-License-Identifier: Apache-2.0
// How a study of published figures is read, and what is said of its rows.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <stdexcept>

#include "research/studies/published/study.hpp"
#include "tests/research/studies/study_testing.hpp"

namespace underlap::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string study(const std::string& table) { return "study: published_figures\ntables:\n  - {" + table + "}\n"; }

std::string complaint(const std::string& table) {
  return study_testing::complaint(parse_published_study, study(table));
}

ModelledRow row(const std::string& name, double published, double modelled, bool is_fit = false) {
  ModelledRow out;
  out.row = {.name = name, .cell = name, .published = published, .relative_to = ""};
  out.modelled = modelled;
  out.is_fit = is_fit;
  return out;
}

TEST(PublishedStudy, ReadsTablesAndNamesTheFolderOfMatrices) {
  const std::string yaml = study(
      "matrix: m, quantity: iteration_from_layer, unit: b, layer_ms: 3, rows: [{name: x, model: a, published: 2}]");
  const PublishedStudy read = parse_published_study(yaml, "some/where.yaml");
  EXPECT_EQ(read.matrices, "some/published");
  ASSERT_EQ(read.tables.size(), 1U);
  EXPECT_EQ(read.tables[0].rows.at(0).cell, "a");
  EXPECT_EQ(read.tables[0].unit, "b");
  EXPECT_EQ(read.tables[0].layer_ms, 3);
}

TEST(PublishedStudy, WhatIsFittedMustBeSaid) {
  const std::string rows = "matrix: m, rows: [{name: x, published: 2}]";
  EXPECT_EQ(complaint(rows), "");
  EXPECT_EQ(complaint(rows + ", speed: 0.5, fitted_to: x"), "");
  EXPECT_THAT(complaint(rows + ", speed: 0.5"), HasSubstr("fitted_to must name its row"));
  EXPECT_THAT(complaint(rows + ", speed: 0.5, fitted_to: y"), HasSubstr("y, which is not a row"));
  EXPECT_THAT(complaint("matrix: m, rows: [{name: x, published: 2, relative_to: y}]"),
              HasSubstr("y, which is not a row"));
}

TEST(PublishedStudy, SaysAllThatIsWrongWithItsPlace) {
  const std::string text =
      complaint("quantity: speed, layer_ms: 3, attention_forward_us: 1, rows: [{name: x, published: 2, z: 1}]");
  for (const char* words :
       {"a.yaml:3:", "quantity must be model_tflops, causal_tflops, hardware_tflops or iteration_from_layer",
        "needs matrix and rows", "unknown key \"z\"", "unit and layer_ms are required with",
        "a forward and a backward time"})
    EXPECT_THAT(text, HasSubstr(words));
}

TEST(PublishedStudy, AFittedRowIsNeverAPrediction) {
  ModelledTable table;
  table.table.fitted_to = "b";
  table.table.speed = 0.5;
  table.rows = {row("a", 100, 104), row("b", 200, 300, true), row("c", 150, 141)};
  EXPECT_NEAR(table.largest_error(), 0.06, 1e-12);
  const std::string page = published_markdown({}, {table});
  EXPECT_THAT(page, HasSubstr("fitted |"));
  EXPECT_THAT(page, Not(HasSubstr("+50.0 %")));
  EXPECT_THAT(page, HasSubstr("to row b only"));
  EXPECT_THAT(page, HasSubstr("Largest error of the rows not used for fitting 6.0 %"));
}

TEST(PublishedStudy, AFigureMayBeFittedToARowOfATableBefore) {
  const std::string first = "matrix: m, speed: 0.5, fitted_to: x, rows: [{name: x, published: 2}]}\n  - {";
  const std::string rows = "matrix: n, rows: [{name: y, published: 2}]";
  EXPECT_EQ(complaint(first + rows + ", speed: 0.5, fitted_to: x"), "");
  EXPECT_THAT(complaint(first + rows + ", speed: 0.6, fitted_to: x"), HasSubstr("x, which is not a row"))
      << "another figure was fitted to nothing";
  EXPECT_THAT(complaint(first + rows + ", fitted_figure: gpu.sustained_clock"),
              HasSubstr("fitted_to must name its row"));
  ModelledTable of_description;
  of_description.table.fitted_to = "x";
  of_description.table.fitted_figure = "gpu.sustained_clock";
  of_description.rows = {row("x", 2, 2)};
  of_description.rows[0].is_fit = true;
  EXPECT_THAT(published_markdown({}, {of_description}),
              HasSubstr("Fitted: one figure, to row x only: gpu.sustained_clock of the description."));
  ModelledTable table;
  table.table.fitted_to = "x";
  table.table.speed = 0.5;
  table.rows = {row("y", 2, 2)};
  EXPECT_THAT(published_markdown({}, {table}), HasSubstr("Given: the figure fitted to row x of a table above"));
}

TEST(PublishedStudy, WhatIsRelativeToARowIsHeldToItsRatioAlone) {
  ModelledTable table;
  table.rows = {row("few", 100, 200), row("many", 90, 189)};
  for (ModelledRow& scaled : table.rows) {
    scaled.row.relative_to = "few";
    scaled.unit_published = 100;
    scaled.unit_modelled = 200;
  }
  EXPECT_NEAR(table.largest_error(), 0.05, 1e-12);
  const std::string page = published_markdown({}, {table});
  EXPECT_THAT(page, HasSubstr("| many | few | 0.000 | 90.0 | 189.0 | 0.900 | 0.945 | +5.0 % |"));
  EXPECT_THAT(page, HasSubstr("Largest error of a ratio 5.0 %"));
  EXPECT_THAT(markdown(published_table({table})), HasSubstr("| many | 0.9 | 0.945 | 1.050 | +5.0 % |"));
  EXPECT_THAT(page, Not(HasSubstr("Order"))) << "what the rows are by themselves is not compared";
}

TEST(PublishedStudy, CountsPairsInTheWrongOrderUnlessTheyAreAsGoodAsEqual) {
  ModelledTable table;
  table.rows = {row("a", 100, 120), row("b", 101, 110), row("c", 150, 115)};
  EXPECT_EQ(table.misordered_pairs(0.02), 1);  // a and c
  EXPECT_EQ(table.misordered_pairs(0), 2);     // a and b too
}

/// A tiny model on one modelled L20, whose host the description leaves out: `axis` goes on with its matrix, `table`
/// with the table of its one row.
class PlayedStudy : public ::testing::Test {
 protected:
  std::vector<ModelledTable> play(const std::string& axis, const std::string& table) {
    std::filesystem::create_directory(folder_ / "published");
    testing_support::write_text(folder_ / "published/m.yaml",
                                "model: {preset: tiny}\ntrain: {num_microbatches: 2}\nenvironment: {gpu_arch: a100}\n"
                                "run: {backend: sim, hardware: l20, trace: false}\n"
                                "matrix:\n  model: [{name: a}]\n" +
                                    axis);
    const std::string yaml = study("matrix: m, rows: [{name: a, published: 1}]" + table);
    return run_published(parse_published_study(yaml, folder_ / "study.yaml"));
  }
  ModelledRow only_row(const std::string& axis, const std::string& table = "") {
    return play(axis, table).at(0).rows.at(0);
  }

  testing_support::TemporaryFolder folder_;
};

std::string choices(const std::vector<int>& sequences) {
  std::string axis = "  choice:\n";
  for (const int n : sequences) axis += fmt::format("    - {{name: take_{}, train.micro_batch_size: {}}}\n", n, n);
  return axis;
}

TEST_F(PlayedStudy, TakesTheFastestChoiceThatFits) {
  const double one = only_row(choices({1})).step_s, many = only_row(choices({256})).step_s;
  ASSERT_LT(one, many) << "the same number of microbatches";
  EXPECT_EQ(only_row(choices({256, 1})).chosen, "take_1");
  EXPECT_EQ(only_row(choices({256, 1})).step_s, one);
  EXPECT_EQ(only_row(choices({1 << 19, 256})).chosen, "take_256");
  EXPECT_THROW(only_row(choices({1 << 18, 1 << 19})), std::invalid_argument);
  EXPECT_EQ(only_row("").chosen, "") << "without that axis";
}

TEST_F(PlayedStudy, CountsWhatTheSourceMovedBesidesAtTheRateOfMemory) {
  const double plain = only_row("").step_s;
  const double loss = only_row("", ", loss_bytes: 10").step_s - plain;
  EXPECT_GT(loss, 0);
  const double twice = only_row("", ", loss_bytes: 20").step_s - plain;
  EXPECT_GT(twice, loss);
  EXPECT_LT(twice, 2 * loss) << "more bytes, a better rate";
  EXPECT_GT(only_row("", ", optimizer_bytes: 10").step_s, plain);
}

TEST_F(PlayedStudy, ScalesByTheRowThatIsNamed) {
  const std::string rows = "  - {matrix: m, rows: [{name: b, model: a, published: 3, relative_to: b}]}";
  const std::vector<ModelledTable> tables = play("", "}\n" + rows.substr(0, rows.size() - 1));
  EXPECT_EQ(tables.at(0).rows.at(0).unit_modelled, 1);
  EXPECT_EQ(tables.at(1).rows.at(0).unit_published, 3);
  EXPECT_EQ(tables.at(1).rows.at(0).error(), 0);
}

TEST_F(PlayedStudy, AFittedFigureSlowsWhatItIsOf) {
  const double plain = only_row("").step_s;
  EXPECT_GT(only_row("", ", speed: 0.1, fitted_to: a").step_s, plain);
  EXPECT_TRUE(only_row("", ", speed: 0.1, fitted_to: a").is_fit);
}

}  // namespace
}  // namespace underlap::bench
