// SPDX-License-Identifier: Apache-2.0
#include <functional>

#include "tests/impl/device/check/rank_programs.hpp"
#include "tests/testing.hpp"

namespace underlap::check {
namespace {

// Two ranks of a group for transfers of `mode` run a step; `odd` is what rank 1 does otherwise.
struct Twins {
  RankPrograms ranks{2};
  std::vector<Communicator> group = ranks.declare("dp");

  void step(const std::function<void(std::int32_t, RankPrograms::Rank&)>& body, Mode mode = Mode::dp) {
    for (std::int32_t i = 0; i < 2; ++i) {
      RankPrograms::Rank& rank = ranks[i];
      const Communicator& dp = group[static_cast<std::size_t>(i)];
      rank.order(dp.stream, rank.a);
      rank.device.communicate(dp, {.kind = Kind::communication, .mode = mode, .purpose = intern("sum"), .step = 0},
                              std::vector<Transfer>{all_reduce_of(flat(rank.x, 0, 8))});
      rank.order(rank.a, dp.stream);
      body(i, rank);
    }
  }
};

TEST(Symmetry, PlacesMayDiffer) {
  Twins twins;
  twins.step([](std::int32_t i, auto& rank) { rank.read(rank.a, "read", flat(rank.x, 8 * i, 8)); });
  EXPECT_THAT(twins.ranks.findings(), IsEmpty());
}

TEST(Symmetry, ShapesMayNot) {
  Twins twins;
  twins.step([](std::int32_t i, auto& rank) { rank.read(rank.a, "read", matrix(rank.x, 4 - i, 8)); });
  EXPECT_THAT(twins.ranks.findings(),
              ElementsAre("asymmetry: rank 1 a: read has in x [3, 8] where rank 0 has x [4, 8] | enqueue the same "
                          "commands, on views of the same shape, on all ranks of a data-parallel group"));
}

TEST(Symmetry, CommandsMayNot) {
  Twins other_name;
  other_name.step([](std::int32_t i, auto& rank) { rank.read(rank.a, i == 0 ? "read" : "look", flat(rank.x)); });
  EXPECT_THAT(other_name.ranks.findings(),
              ElementsAre(StartsWith("asymmetry: rank 1 a: look has this where rank 0 has a: read |")));
  Twins one_more;
  one_more.step([](std::int32_t i, auto& rank) {
    if (i == 1) rank.read(rank.a, "read", flat(rank.x));
  });
  EXPECT_THAT(one_more.ranks.findings(),
              ElementsAre(StartsWith("asymmetry: rank 1 a: read has no counterpart: rank 0 has ended |")));
}

TEST(Symmetry, OrdersMayNot) {
  Twins twins;
  twins.step([](std::int32_t i, auto& rank) {
    const Event before = rank.device.record(rank.a);
    rank.read(rank.a, "read", flat(rank.x));
    rank.device.wait(rank.b, i == 0 ? rank.device.record(rank.a) : before);
  });
  EXPECT_THAT(twins.ranks.findings(),
              ElementsAre(StartsWith("asymmetry: rank 1 b: wait for a has 1 commands of a where rank 0 has 2 of a |")));
}

TEST(Symmetry, IsForDataParallelGroupsAlone) {
  Twins twins;
  twins.step([](std::int32_t i, auto& rank) { rank.read(rank.a, "read", flat(rank.x, 0, 8 + i)); }, Mode::tp);
  EXPECT_THAT(twins.ranks.findings(), IsEmpty());
}

TEST(Symmetry, IsNotForRanksThatAnotherModeParts) {
  Twins twins;
  const auto cp = twins.ranks.declare("cp");
  twins.step([](std::int32_t i, auto& rank) { rank.read(rank.a, "read", flat(rank.x, 0, 8 + i)); });
  for (std::int32_t i = 0; i < 2; ++i) {
    const Communicator& own = cp[static_cast<std::size_t>(i)];
    twins.ranks[i].order(own.stream, twins.ranks[i].a);
    const View view = flat(twins.ranks[i].x, 16, 8);
    twins.ranks[i].communicate(own, "hop", {all_reduce_of(view)}, Mode::cp);
  }
  EXPECT_THAT(twins.ranks.findings(), IsEmpty());
}

// Ranks 0 and 1 share sequences, and so do 2 and 3; gradients are reduced over all four.
TEST(Symmetry, HoldsBetweenRanksAtTheSamePlaceOfAnotherMode) {
  const auto findings = [](std::int64_t rows_of_rank_2) {
    RankPrograms ranks(4);
    const auto dp = ranks.declare("dp");
    for (std::int32_t i = 0; i < 4; ++i) {
      RankPrograms::Rank& rank = ranks[i];
      const Group pair{{i / 2 * 2, i / 2 * 2 + 1}, i % 2};
      const Communicator cp = rank.device.declare("cp", pair);
      const View half = flat(rank.x, 16, 8), all = flat(rank.x, 0, 8);
      const auto sum = [](const View& x) { return std::vector<Transfer>{all_reduce_of(x)}; };
      rank.communicate(cp, "hop", sum(half), Mode::cp);
      rank.device.communicate(dp[static_cast<std::size_t>(i)],
                              {.kind = Kind::communication, .mode = Mode::dp, .purpose = intern("sum"), .step = 0},
                              sum(all));
      rank.order(rank.a, cp.stream);
      rank.read(rank.a, "read", matrix(rank.x, i == 2 ? rows_of_rank_2 : 4 - i % 2, 8));
    }
    return ranks.findings();
  };
  EXPECT_THAT(findings(4), Not(Contains(HasSubstr("asymmetry"))));
  EXPECT_THAT(findings(3), Contains(HasSubstr("rank 2 a: read has in x [3, 8] where rank 0 has x [4, 8]")));
}

TEST(Folding, KeepsOneFindingOfManyRanksAndSteps) {
  RankPrograms ranks(4);
  for (std::int32_t i = 0; i < 4; ++i)
    for (std::int32_t step = 0; step < 3; ++step) {
      ranks[i].order(ranks[i].b, ranks[i].a);
      ranks[i].device.launch(ranks[i].a, {.purpose = intern("write"), .step = step},
                             Operation(intern("write"), nullptr, {}, {{flat(ranks[i].x), Access::out}}));
      ranks[i].device.launch(ranks[i].b, {.purpose = intern("read"), .step = step},
                             Operation(intern("read"), nullptr, {}, {{flat(ranks[i].x), Access::in}}));
      ranks[i].order(ranks[i].a, ranks[i].b);
    }
  const CheckReport report = ranks.report();
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_EQ(report.findings[0].count, 12);
  EXPECT_EQ(report.num_ranks, 4);
  EXPECT_EQ(report.num_operations, 4 * (1 + 3 * 2));
  EXPECT_EQ(report.num_waits, 4 * 3 * 2);
}

}  // namespace
}  // namespace underlap::check
