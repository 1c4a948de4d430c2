// SPDX-License-Identifier: Apache-2.0
// Which technique each setting of a slot puts in effect.
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "impl/tp/technique.hpp"

namespace underlap::tp {
namespace {

using enum plan::TensorMethod;

std::vector<plan::TensorSlotOverlap> all_settings() {
  std::vector<plan::TensorSlotOverlap> settings;
  for (const auto method : {waited, nccl, bulk, ring_exchange, pipeline})
    for (const bool aggregate : {false, true})
      for (const bool fp8_buf : {false, true})
        settings.push_back({.method = method, .aggregate = aggregate, .fp8_buf = fp8_buf});
  return settings;
}

TEST(TensorTechniques, OfGathersAreRingsOrWaitForTheGather) {
  for (const plan::TensorSlotOverlap& o : all_settings())
    EXPECT_EQ(GatherGemms::in_effect(o).name, o.method != ring_exchange ? "blocking_gather"
                                              : o.aggregate             ? "aggregate_ring_gather"
                                                                        : "ring_exchange_gather");
}

TEST(TensorTechniques, OfScattersAreCutByTokensOrByFeaturesAndMoveTheAskedType) {
  for (const plan::TensorSlotOverlap& o : all_settings()) {
    std::string_view name = "blocking_scatter";
    if (o.method == ring_exchange) name = o.fp8_buf ? "fp8_ring_exchange_scatter" : "ring_exchange_scatter";
    if (o.method == pipeline) name = o.fp8_buf ? "fp8_pipeline_scatter" : "pipeline_scatter";
    EXPECT_EQ(GemmScatters::in_effect(o).name, name);
  }
}

TEST(TensorTechniques, BesideAGemmAreNcclsWhereNothingElseIsAsked) {
  const std::map<plan::TensorMethod, std::string_view> kNames{{waited, "blocking_collective"},
                                                              {bulk, "bulk_collective"}};
  for (const plan::TensorSlotOverlap& o : all_settings()) {
    const auto found = kNames.find(o.method);
    EXPECT_EQ(CollectivesDuringGemm::in_effect(o).name,
              found != kNames.end() ? found->second : "asynchronous_collective");
  }
}

TEST(TensorTechniques, OfDrainsOverlapUnlessEveryCollectiveIsWaitedFor) {
  for (const plan::TensorSlotOverlap& o : all_settings())
    EXPECT_EQ(WgradDrains::in_effect(o).name, o.method == waited ? "blocking_drain" : "double_buffered_drain");
}

}  // namespace
}  // namespace underlap::tp
