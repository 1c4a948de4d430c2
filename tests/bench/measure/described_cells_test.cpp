// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/described_cells.hpp"

#include <gmock/gmock.h>

#include "profiler/report/cell_summary.hpp"

namespace underlap::bench {
namespace {

using report::CellResult;
using report::References;

std::vector<CellResult> described(const std::string& file) {
  plan::Matrix matrix = plan::load(file);
  EXPECT_FALSE(matrix.has_errors()) << file;
  return described_cells(matrix.cells);
}

std::string name_of(const std::vector<CellResult>& cells, const std::optional<std::size_t>& cell) {
  return cell ? cells[*cell].name : "";
}

// Axes of these matrices are called what they are, and each has a no_comm cell of its own wherever it has one: names
// tell the same as the plan.
class ShippedMatrices : public ::testing::TestWithParam<const char*> {};

TEST_P(ShippedMatrices, HaveTheReferencesThatTheirNamesTell) {
  const std::vector<CellResult> cells =
      described(std::string(UNDERLAP_SOURCE_DIR "/bench/matrices/") + GetParam() + ".yaml");
  std::vector<CellResult> without_plan = cells;
  for (CellResult& cell : without_plan) cell.references.reset();
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const References planned = find_references(cells, i), named = find_references(without_plan, i);
    EXPECT_EQ(name_of(cells, planned.off), name_of(cells, named.off)) << cells[i].name;
    EXPECT_EQ(name_of(cells, planned.no_comm), name_of(cells, named.no_comm)) << cells[i].name;
  }
  const auto pairs = pairs_along_axes(cells), by_names = pairs_along_axes(without_plan);
  EXPECT_EQ(pairs.size(), by_names.size());
}

INSTANTIATE_TEST_SUITE_P(Matrices, ShippedMatrices,
                         ::testing::Values("quick", "modes", "tp", "modelled", "modes_modelled", "tracing_cost", "loss",
                                           "llama405b_16k", "gpu/dp_overlap", "gpu/tp", "gpu/tracing_cost"));

// By the names of its axes, what was computed without sequence parallelism and with recomputation would be held against
// the plain layer's compute.
TEST(DescribedCells, TakeComputeAloneOfTheSameWork) {
  const std::vector<CellResult> cells = described(UNDERLAP_SOURCE_DIR "/bench/matrices/tp_modelled.yaml");
  std::map<std::string, std::string> no_comm;
  for (const CellResult& cell : cells) no_comm[cell.name] = cell.references->no_comm;
  EXPECT_EQ(no_comm["preset"], "no_comm");
  EXPECT_EQ(no_comm["no_sp waited"], "no_sp no_comm");
  EXPECT_EQ(no_comm["recompute preset"], "recompute no_comm");
}

}  // namespace
}  // namespace underlap::bench
