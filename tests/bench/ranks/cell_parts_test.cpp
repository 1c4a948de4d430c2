// SPDX-License-Identifier: Apache-2.0
#include "bench/ranks/cell_parts.hpp"

#include <numeric>

#include "tests/testing.hpp"

namespace underlap::bench {
namespace {

TEST(CellParts, HoldAsManyCellsAsFitInTheirOrder) {
  const std::vector<int> bytes{4, 4, 4, 9, 1, 20, 2};
  const auto fits = [&](int room) {
    return [&bytes, room](const CellPart& part) {
      return std::accumulate(part.begin(), part.end(), 0,
                             [&](int sum, std::size_t cell) { return sum + bytes[cell]; }) <= room;
    };
  };
  EXPECT_THAT(parts_that_fit(7, fits(100)), ElementsAre(all_cells(7)));
  EXPECT_THAT(parts_that_fit(7, fits(10)),
              ElementsAre(CellPart{0, 1}, CellPart{2}, CellPart{3, 4}, CellPart{5}, CellPart{6}))
      << "the sixth does not fit by itself";
}

}  // namespace
}  // namespace underlap::bench
