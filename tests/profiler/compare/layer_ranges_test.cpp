// SPDX-License-Identifier: Apache-2.0
#include "profiler/compare/layer_ranges.hpp"

#include <gmock/gmock.h>

namespace underlap::compare {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Of layers from 0 on.
std::vector<LayerRange> ranges_of(const std::vector<std::int64_t>& deltas) {
  std::vector<LayerChange> layers;
  for (const std::int64_t delta : deltas) layers.push_back({static_cast<std::int32_t>(layers.size()), delta});
  return alike_ranges(layers);
}

TEST(LayerRanges, HoldLayersThatChangedAlike) {
  EXPECT_THAT(ranges_of({}), IsEmpty());
  EXPECT_THAT(ranges_of({0, 0, 0, 0}), ElementsAre(LayerRange{0, 3}));
  EXPECT_THAT(ranges_of({100, 150, 200, 120}), ElementsAre(LayerRange{0, 3}));
  EXPECT_THAT(ranges_of({0, 0, 500, 600}), ElementsAre(LayerRange{0, 1}, LayerRange{2, 3}));
  EXPECT_THAT(ranges_of({-500, -500, 500, 600}), ElementsAre(LayerRange{0, 1}, LayerRange{2, 3}));
  // What is small beside the largest is none, of either sign.
  EXPECT_THAT(ranges_of({90, -90, 10'000, 10'000}), ElementsAre(LayerRange{0, 1}, LayerRange{2, 3}));
  // A step from one to the next of less than a factor of two adds up to more.
  EXPECT_THAT(ranges_of({100, 150, 220}), ElementsAre(LayerRange{0, 1}, LayerRange{2, 2}));
}

TEST(LayerRanges, AreOneWhereChangesScatter) {
  EXPECT_THAT(ranges_of({10, -20, 30, -10}), ElementsAre(LayerRange{0, 3}));
  std::vector<std::int64_t> deltas(40, 0);
  for (std::size_t i = 10; i < 20; ++i) deltas[i] = 1000;
  EXPECT_THAT(ranges_of(deltas), ElementsAre(LayerRange{0, 9}, LayerRange{10, 19}, LayerRange{20, 39}));
  for (std::size_t i = 0; i < 40; i += 2) deltas[i] = -500;
  EXPECT_THAT(ranges_of(deltas), ElementsAre(LayerRange{0, 39}));
}

}  // namespace
}  // namespace underlap::compare
