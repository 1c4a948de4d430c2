// SPDX-License-Identifier: Apache-2.0
#include "impl/model/layer_groups.hpp"

#include <gmock/gmock.h>

#include <string>

namespace underlap::model {
namespace {

using plan::RecomputeMethod;

// "0-2 3 (4)": layers of the groups; of those in brackets everything is kept.
std::string groups_of(const plan::RecomputeConfig& recompute, std::int32_t num_layers) {
  std::string text;
  for (const LayerGroup& group : layer_groups(recompute, num_layers)) {
    std::string layers = std::to_string(group.first);
    if (group.num_layers > 1) layers += "-" + std::to_string(group.first + group.num_layers - 1);
    text += (text.empty() ? "" : " ") + (group.is_recomputed ? layers : "(" + layers + ")");
  }
  return text;
}

TEST(LayerGroups, WithoutRecomputationEachLayerKeepsEverything) { EXPECT_EQ(groups_of({}, 3), "(0) (1) (2)"); }

TEST(LayerGroups, UniformTakesAllLayersAndTheLastGroupWhatIsLeft) {
  EXPECT_EQ(groups_of({RecomputeMethod::uniform, 1}, 3), "0 1 2");
  EXPECT_EQ(groups_of({RecomputeMethod::uniform, 3}, 8), "0-2 3-5 6-7");
  EXPECT_EQ(groups_of({RecomputeMethod::uniform, 8}, 8), "0-7");
}

TEST(LayerGroups, BlockTakesTheFirstLayersEach) {
  EXPECT_EQ(groups_of({RecomputeMethod::block, 2}, 4), "0 1 (2) (3)");
  EXPECT_EQ(groups_of({RecomputeMethod::block, 4}, 4), "0 1 2 3");
}

}  // namespace
}  // namespace underlap::model
