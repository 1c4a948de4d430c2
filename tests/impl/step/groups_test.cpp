// SPDX-License-Identifier: Apache-2.0
#include "impl/step/groups.hpp"

#include <tuple>

#include "impl/cp/sequence_part.hpp"
#include "impl/plan/config.hpp"
#include "tests/testing.hpp"

namespace underlap {
namespace {

// Sixteen ranks, two of each kind.
plan::Config two_of_each() {
  plan::Config config;
  config.parallel = {.tensor_model_parallel_size = 2,
                     .pipeline_model_parallel_size = 2,
                     .context_parallel_size = 2,
                     .data_parallel_size = 2};
  return config;
}

TEST(ParallelGroups, NumberTensorRanksNextToEachOtherAndStagesFarthestApart) {
  const ParallelGroups groups = parallel_groups(two_of_each(), 6);  // tensor 0, context 1, data 1, stage 0
  EXPECT_EQ(groups.place[Mode::tp], 0);
  EXPECT_EQ(groups.place.context(), 1);
  EXPECT_EQ(groups.place.data(), 1);
  EXPECT_EQ(groups.place.stage(), 0);
  EXPECT_THAT(groups.tensor.members, ElementsAre(6, 7));
  EXPECT_THAT(groups.context.members, ElementsAre(4, 6));
  EXPECT_THAT(groups.pipeline.members, ElementsAre(6, 14));
  EXPECT_EQ(groups.context.my_index, 1);
}

TEST(ParallelGroups, ReduceGradientsOverDataAndContextRanksInTheOrderOfTheirNumbers) {
  const ParallelGroups groups = parallel_groups(two_of_each(), 13);
  EXPECT_THAT(groups.instance.members, ElementsAre(9, 11, 13, 15));
  EXPECT_EQ(groups.instance.my_index, 2);
  EXPECT_THAT(groups.across_instances.members, ElementsAre(13));
  EXPECT_THAT(groups.model.members, ElementsAre(4, 5, 12, 13)) << "tensor-parallel ranks of all stages";
  EXPECT_EQ(groups.model.my_index, 3);
}

TEST(ParallelGroups, InstancesAreNeighborsAndAcrossThemAreThoseOfOneShard) {
  plan::Config config = two_of_each();
  config.ddp.num_distributed_optimizer_instances = 2;
  const ParallelGroups groups = parallel_groups(config, 13);
  EXPECT_THAT(groups.instance.members, ElementsAre(13, 15));
  EXPECT_EQ(groups.instance.my_index, 0);
  EXPECT_THAT(groups.across_instances.members, ElementsAre(9, 13));
  EXPECT_EQ(groups.across_instances.my_index, 1);
  config.ddp.num_distributed_optimizer_instances = 4;
  EXPECT_THAT(parallel_groups(config, 13).instance.members, ElementsAre(13));
  EXPECT_THAT(parallel_groups(config, 13).across_instances.members, ElementsAre(9, 11, 13, 15));
}

TEST(OptimizerGroup, HoldsEveryPartOfOneOptimizerOnce) {
  plan::Config config = two_of_each();
  EXPECT_EQ(optimizer_group(config, 13).size(), 16);
  EXPECT_EQ(optimizer_group(config, 13).my_index, 13);
  config.ddp.num_distributed_optimizer_instances = 2;
  EXPECT_THAT(optimizer_group(config, 13).members, ElementsAre(4, 5, 6, 7, 12, 13, 14, 15));
  EXPECT_EQ(optimizer_group(config, 13).my_index, 5);
  config.ddp.use_distributed_optimizer = false;
  EXPECT_EQ(optimizer_group(config, 13).members, parallel_groups(config, 13).model.members);
  EXPECT_EQ(optimizer_group(config, 13).my_index, parallel_groups(config, 13).model.my_index);
}

class GroupNumbersOf : public testing::TestWithParam<std::tuple<std::int32_t, bool>> {};
INSTANTIATE_TEST_SUITE_P(Instances, GroupNumbersOf,
                         testing::Combine(testing::Values(1, 2, 4), testing::Values(false, true)));

TEST_P(GroupNumbersOf, AreSharedByTheMembersOfAGroupAndByNoOthers) {
  plan::Config config = two_of_each();
  config.ddp.num_distributed_optimizer_instances = std::get<0>(GetParam());
  config.ddp.use_distributed_optimizer = std::get<1>(GetParam());
  const auto members = [&](std::int32_t GroupNumbers::*kind, std::int32_t rank) {
    const auto number = [&](std::int32_t r) { return group_numbers(config, place_of(config.parallel, r)).*kind; };
    std::vector<std::int32_t> same;
    for (std::int32_t r = 0; r < config.parallel.world_size(); ++r)
      if (number(r) == number(rank)) same.push_back(r);
    return same;
  };
  for (std::int32_t rank = 0; rank < config.parallel.world_size(); ++rank) {
    const ParallelGroups groups = parallel_groups(config, rank);
    EXPECT_EQ(members(&GroupNumbers::instance, rank), groups.instance.members);
    EXPECT_EQ(members(&GroupNumbers::across_instances, rank), groups.across_instances.members);
    EXPECT_EQ(members(&GroupNumbers::model, rank), groups.model.members);
    EXPECT_EQ(members(&GroupNumbers::optimizer, rank), optimizer_group(config, rank).members);
  }
}

TEST(ParallelGroups, PlacesAndRanksAreEachOthersReverse) {
  const plan::ParallelConfig parallel{.tensor_model_parallel_size = 3,
                                      .pipeline_model_parallel_size = 4,
                                      .context_parallel_size = 2,
                                      .data_parallel_size = 5};
  for (std::int32_t rank = 0; rank < parallel.world_size(); ++rank)
    EXPECT_EQ(rank_of(parallel, place_of(parallel, rank)), rank);
}

std::vector<std::int32_t> positions(std::int64_t seq_length, std::int32_t size, std::int32_t rank) {
  Group context{std::vector<std::int32_t>(static_cast<std::size_t>(size)), rank};
  std::vector<std::int32_t> part;
  cp::SequencePart(seq_length, context).append_positions(part);
  return part;
}

TEST(SequencePart, IsAnEarlyAndALateChunk) {
  EXPECT_THAT(positions(8, 2, 0), ElementsAre(0, 1, 6, 7));
  EXPECT_THAT(positions(8, 2, 1), ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(positions(12, 3, 1), ElementsAre(2, 3, 8, 9));
}

TEST(SequencePart, OfOneRankIsEverythingWhateverItsLength) {
  EXPECT_THAT(positions(5, 1, 0), ElementsAre(0, 1, 2, 3, 4));
}

TEST(SequencePart, TakesTheTokensAtItsPositions) {
  std::vector<std::int32_t> part{99};
  cp::SequencePart(8, Group{{0, 1}, 0}).append({10, 11, 12, 13, 14, 15, 16, 17}, part);
  EXPECT_THAT(part, ElementsAre(99, 10, 11, 16, 17));
}

}  // namespace
}  // namespace underlap
