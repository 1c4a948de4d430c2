// SPDX-License-Identifier: Apache-2.0
// Races, reads of what nobody wrote, and the lives of buffers, each in the smallest program that has one.
#include "tests/impl/device/check/rank_programs.hpp"

#include "tests/testing.hpp"

namespace underlap::check {
namespace {

class MemoryCheckTest : public testing::Test {
 protected:
  RankPrograms ranks_{1};
  RankPrograms::Rank& r_ = ranks_[0];
};

TEST_F(MemoryCheckTest, EventsOrderUses) {
  r_.order(r_.b, r_.a);
  r_.write(r_.b, "write_b", flat(r_.x, 8, 16));
  r_.order(r_.a, r_.b);
  r_.read(r_.a, "read_a", flat(r_.x));
  EXPECT_THAT(ranks_.findings(), IsEmpty());
}

TEST_F(MemoryCheckTest, RaceNamesBothUsesAndTheMissingOrder) {
  r_.order(r_.b, r_.a);
  r_.write(r_.b, "write_b", flat(r_.x, 8, 16));
  r_.read(r_.a, "read_a", flat(r_.x));
  EXPECT_THAT(
      ranks_.findings(),
      ElementsAre("race: rank 0 b: write_b writes x[8, 24) and a: read_a reads x[0, 64), and nothing orders them "
                  "| let a wait for b: write_b before a: read_a"));
}

TEST_F(MemoryCheckTest, ReadsThatMeetAndWritesThatDoNotAreNoRace) {
  r_.order(r_.b, r_.a);
  r_.read(r_.a, "read_a", flat(r_.x));
  r_.read(r_.b, "read_b", flat(r_.x));
  EXPECT_THAT(ranks_.findings(), IsEmpty());
  // Columns 0 to 3 and 4 to 7 of one matrix interleave and never meet.
  const View left{.tensor = r_.x, .offset = 0, .rows = 4, .cols = 4, .leading_dimension = 8};
  View right = left;
  right.offset = 4;
  r_.order(r_.a, r_.b);
  r_.order(r_.b, r_.a);
  r_.write(r_.a, "write_left", left);
  r_.write(r_.b, "write_right", right);
  EXPECT_THAT(ranks_.findings(), IsEmpty());
}

TEST_F(MemoryCheckTest, StridedViewsAreNamedWithTheirRows) {
  r_.order(r_.b, r_.a);
  r_.write(r_.a, "write_a", {.tensor = r_.x, .offset = 2, .rows = 4, .cols = 3, .leading_dimension = 8});
  r_.read(r_.b, "read_b", flat(r_.x, 28, 1));
  EXPECT_THAT(ranks_.findings(),
              ElementsAre("race: rank 0 a: write_a writes x[2, 5) in 4 rows every 8 and b: read_b reads x[28, 29), and "
                          "nothing orders them | let b wait for a: write_a before b: read_b"));
}

TEST_F(MemoryCheckTest, APaceIsNoOrder) {
  r_.device.throttle(r_.b, r_.device.record(r_.a));
  r_.read(r_.b, "read_b", flat(r_.x));
  EXPECT_THAT(ranks_.findings(), ElementsAre(StartsWith("race: rank 0 a: begin writes x[0, 64)")));
}

TEST_F(MemoryCheckTest, ReadBeforeAWriteIsARaceToo) {
  r_.order(r_.b, r_.a);
  r_.read(r_.a, "read_a", flat(r_.x));
  r_.write(r_.b, "write_b", flat(r_.x));
  EXPECT_THAT(
      ranks_.findings(),
      ElementsAre("race: rank 0 a: read_a reads x[0, 64) and b: write_b writes x[0, 64), and nothing orders them "
                  "| let b wait for a: read_a before b: write_b"));
}

TEST_F(MemoryCheckTest, AReadDoesNotHideTheWriteBeforeIt) {
  const Stream c = r_.device.create_stream("c");
  r_.order(r_.b, r_.a);
  r_.read(r_.b, "read_b", flat(r_.x));
  r_.read(c, "read_c", flat(r_.x));
  EXPECT_THAT(ranks_.findings(), ElementsAre(HasSubstr("let c wait for a: begin before c: read_c")));
}

TEST_F(MemoryCheckTest, AMissingOrderIsSaidOnceForItsFirstUse) {
  r_.read(r_.b, "read_b", flat(r_.x, 0, 8));
  r_.read(r_.b, "again", flat(r_.x, 0, 16));
  EXPECT_EQ(ranks_.report().findings.size(), 1U);
}

TEST_F(MemoryCheckTest, TwoMissingOrdersAreTwoFindings) {
  const Stream c = r_.device.create_stream("c");
  r_.order(r_.b, r_.a);
  r_.write(r_.a, "write_a", flat(r_.x, 0, 8));
  r_.write(r_.b, "write_b", flat(r_.x, 8, 8));
  r_.read(c, "read_c", flat(r_.x, 0, 16));
  EXPECT_THAT(ranks_.findings(), ElementsAre(HasSubstr("let c wait for a: write_a before c: read_c"),
                                             HasSubstr("let c wait for b: write_b before c: read_c")));
}

TEST_F(MemoryCheckTest, AnOrderThroughAThirdStreamCounts) {
  const Stream c = r_.device.create_stream("c");
  r_.order(c, r_.a);
  r_.order(r_.b, c);
  r_.read(r_.b, "read_b", flat(r_.x));
  EXPECT_THAT(ranks_.findings(), IsEmpty());
}

TEST_F(MemoryCheckTest, AnEventStandsForWhatWasThereWhenItWasRecorded) {
  const Event early = r_.device.record(r_.a);
  r_.write(r_.a, "write_a", flat(r_.x));
  r_.device.wait(r_.b, early);
  r_.read(r_.b, "read_b", flat(r_.x));
  EXPECT_THAT(ranks_.findings(), ElementsAre(HasSubstr("let b wait for a: write_a before b: read_b")));
}

TEST_F(MemoryCheckTest, WhatTheHostEnqueuesAfterItSynchronizedComesLater) {
  r_.device.synchronize(r_.device.record(r_.a));
  r_.write(r_.b, "write_b", flat(r_.x));
  EXPECT_THAT(ranks_.findings(), IsEmpty());
}

TEST_F(MemoryCheckTest, ADownloadWantsASynchronizedHost) {
  std::vector<std::byte> bytes(256);
  r_.write(r_.a, "write_a", flat(r_.x));
  r_.device.download(flat(r_.x), bytes);
  EXPECT_THAT(
      ranks_.findings(),
      ElementsAre("race: rank 0 a: write_a writes x[0, 64) and host: download reads x[0, 64), and nothing orders "
                  "them | let the host wait for a: write_a before host: download"));
  RankPrograms well{1};
  well[0].device.synchronize();
  well[0].device.download(flat(well[0].x), bytes);
  EXPECT_THAT(well.findings(), IsEmpty());
}

TEST_F(MemoryCheckTest, UsesOfOneOperationMayNotMeet) {
  r_.launch(r_.a, "twice", {{flat(r_.x, 0, 8), Access::in}, {flat(r_.x, 7, 8), Access::out}});
  EXPECT_THAT(ranks_.findings(),
              ElementsAre("race: rank 0 a: twice reads x[0, 8) and at the same time writes x[7, 15) | "
                          "declare both as one use, or pass views that do not overlap"));
}

TEST_F(MemoryCheckTest, ViewOutsideItsTensorIsNamed) {
  r_.write(r_.a, "write_a", flat(r_.x, 60, 5));
  EXPECT_THAT(ranks_.findings(), ElementsAre("illegal_use: rank 0 a: write_a writes x[60, 65), which has 64 elements | "
                                             "declare views that lie inside their tensor"));
}

TEST_F(MemoryCheckTest, ReadOfWhatNobodyWroteNamesTheWriteBesideIt) {
  const Tensor y = r_.device.allocate("y", DataType::f32, 16);
  r_.write(r_.a, "first", flat(y, 0, 7));
  r_.write(r_.a, "second", flat(y, 8, 8));
  r_.read(r_.a, "read", flat(y));
  EXPECT_THAT(ranks_.findings(),
              ElementsAre("unwritten_read: rank 0 a: read reads y[0, 16), but nothing wrote y[7, 8) | "
                          "write y[7, 8) before a: read; perhaps declared too small: a: first writes y[0, 7)"));
}

TEST_F(MemoryCheckTest, ReadOfWhatNobodyEverWrote) {
  const Tensor y = r_.device.allocate("y", DataType::f32, 16);
  r_.launch(r_.a, "add", {{flat(y), Access::inout}});
  EXPECT_THAT(ranks_.findings(),
              ElementsAre("unwritten_read: rank 0 a: add updates y[0, 16), but nothing wrote y[0, 16) "
                          "| write y[0, 16) before a: add"));
}

TEST_F(MemoryCheckTest, StridedWritesTogetherCoverADenseRead) {
  const Tensor y = r_.device.allocate("y", DataType::f32, 16);
  const View left{.tensor = y, .offset = 0, .rows = 4, .cols = 1, .leading_dimension = 4};
  const View right{.tensor = y, .offset = 1, .rows = 4, .cols = 3, .leading_dimension = 4};
  r_.launch(r_.a, "both", {{left, Access::out}, {right, Access::out}});
  r_.read(r_.a, "read", flat(y));
  EXPECT_THAT(ranks_.findings(), IsEmpty());
}

TEST_F(MemoryCheckTest, ABufferIsUsedBetweenAcquireAndRelease) {
  const View slot = flat(r_.x);
  r_.device.release(r_.a, slot);
  r_.device.acquire(r_.a, slot);
  r_.write(r_.a, "write_a", slot);
  r_.order(r_.b, r_.a);
  r_.read(r_.b, "read_b", slot);
  r_.device.release(r_.b, slot);
  r_.order(r_.a, r_.b);
  r_.device.acquire(r_.a, slot);
  r_.write(r_.a, "write_again", slot);
  EXPECT_THAT(ranks_.findings(), IsEmpty());
}

TEST_F(MemoryCheckTest, ReleaseWhileAnotherStreamReads) {
  r_.order(r_.b, r_.a);
  r_.read(r_.b, "read_b", flat(r_.x));
  r_.device.release(r_.a, flat(r_.x));
  EXPECT_THAT(ranks_.findings(),
              ElementsAre("released_in_use: rank 0 b: read_b reads x[0, 64) and a: release releases x[0, 64), and "
                          "nothing orders them | let a wait for b: read_b before a: release"));
}

TEST_F(MemoryCheckTest, UseAfterReleaseWantsAnAcquire) {
  r_.device.release(r_.a, flat(r_.x));
  r_.write(r_.a, "write_a", flat(r_.x, 0, 8));
  EXPECT_THAT(ranks_.findings(), ElementsAre("use_after_release: rank 0 a: write_a writes x[0, 8), which a: release "
                                             "freed | acquire it before a: write_a, or release it later"));
}

TEST_F(MemoryCheckTest, AnAcquiredBufferHoldsNothing) {
  r_.device.release(r_.a, flat(r_.x));
  r_.device.acquire(r_.a, flat(r_.x));
  r_.read(r_.a, "read_a", flat(r_.x, 0, 8));
  EXPECT_THAT(ranks_.findings(), ElementsAre(StartsWith("unwritten_read: rank 0 a: read_a reads x[0, 8)")));
}

TEST_F(MemoryCheckTest, AcquireOfWhatIsHeld) {
  r_.device.acquire(r_.a, flat(r_.x));
  r_.device.acquire(r_.a, flat(r_.x, 0, 8));
  EXPECT_THAT(ranks_.findings(),
              ElementsAre("acquired_in_use: rank 0 a: acquire acquires x[0, 8), which has been held since a: acquire | "
                          "release it before acquiring it again"));
}

TEST_F(MemoryCheckTest, SecondAcquireComesAfterTheRelease) {
  r_.device.acquire(r_.a, flat(r_.x));
  r_.device.release(r_.a, flat(r_.x));
  r_.device.acquire(r_.b, flat(r_.x));
  EXPECT_THAT(ranks_.findings(),
              ElementsAre("released_in_use: rank 0 a: release releases x[0, 64) and b: acquire acquires "
                          "x[0, 64), and nothing orders them | let b wait for a: release before b: "
                          "acquire"));
}

TEST(MemoryCheckOfTransfers, TransfersOfOneGroupMayNotMeet) {
  RankPrograms ranks(2);
  const auto group = ranks.declare("tp");
  for (std::int32_t i = 0; i < 2; ++i) {
    ranks[i].order(group[i].stream, ranks[i].a);
    ranks[i].communicate(group[i], "exchange",
                         {send_to(1 - i, flat(ranks[i].x, 0, 8)), receive_from(1 - i, flat(ranks[i].x, 4, 8))});
  }
  EXPECT_THAT(ranks.findings(),
              ElementsAre("race: rank 0 tp: exchange reads x[0, 8) and at the same time writes x[4, 12) | "
                          "send them in two groups, one after the other"));
  const CheckReport report = ranks.report();
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_EQ(report.findings[0].count, 2) << "once on each rank";
}

TEST(MemoryCheckOfTransfers, AnInPlaceCollectiveIsNoRace) {
  RankPrograms ranks(2);
  const auto group = ranks.declare("tp");
  for (std::int32_t i = 0; i < 2; ++i) {
    ranks[i].order(group[i].stream, ranks[i].a);
    ranks[i].communicate(
        group[i], "gather",
        {{.collective = Collective::all_gather, .input = flat(ranks[i].x, 32 * i, 32), .output = flat(ranks[i].x)}});
  }
  EXPECT_THAT(ranks.findings(), IsEmpty());
}

TEST(MemoryCheckOfTransfers, ABroadcastReadsItsInputOnTheRootAlone) {
  RankPrograms ranks(2);
  const auto group = ranks.declare("tp");
  for (std::int32_t i = 0; i < 2; ++i) {
    const Tensor y = ranks[i].device.allocate("y", DataType::f32, 8);
    ranks[i].communicate(group[static_cast<std::size_t>(i)], "seed",
                         {{.collective = Collective::broadcast, .input = flat(y), .output = flat(y), .peer = 1}});
  }
  EXPECT_THAT(ranks.findings(),
              ElementsAre("unwritten_read: rank 1 tp: seed reads y[0, 8), but nothing wrote y[0, 8) | "
                          "write y[0, 8) before tp: seed"));
}

enum class FirstLeg { asks, is_asked };

// Rank 0 reads x, exchanges x[sent_from ...) with rank 1, and overwrites x on another stream once rank 1 has answered.
std::vector<std::string> findings_of_an_answer(FirstLeg leg, std::int64_t sent_from) {
  RankPrograms ranks(2);
  const auto there = ranks.declare("there");
  const auto back = ranks.declare("back");
  for (std::int32_t i = 0; i < 2; ++i)
    for (const Communicator& c : {there[static_cast<std::size_t>(i)], back[static_cast<std::size_t>(i)]})
      ranks[i].order(c.stream, ranks[i].a);
  ranks[0].read(there[0].stream, "read", flat(ranks[0].x, 0, 8));
  if (leg == FirstLeg::asks) {
    ranks[0].send(there[0], "ask", 1, flat(ranks[0].x, sent_from, 8));
    ranks[1].receive(there[1], "ask", 0, flat(ranks[1].x, 0, 8));
  } else {
    ranks[0].receive(there[0], "ask", 1, flat(ranks[0].x, sent_from, 8));
    ranks[1].send(there[1], "ask", 0, flat(ranks[1].x, 0, 8));
  }
  ranks[0].receive(back[0], "answer", 1, flat(ranks[0].x, 32, 8));
  ranks[0].write(back[0].stream, "overwrite", flat(ranks[0].x, 0, 8));
  ranks[1].order(back[1].stream, there[1].stream);
  ranks[1].send(back[1], "answer", 0, flat(ranks[1].x, 0, 8));
  return ranks.findings();
}

TEST(MemoryCheckOfTransfers, AnOrderThatOnlyAPeersReplyBringsIsSaidToBeOne) {
  EXPECT_THAT(
      findings_of_an_answer(FirstLeg::asks, 16),
      ElementsAre("race: rank 0 there: read reads x[0, 8) and back: overwrite writes x[0, 8), and nothing orders "
                  "them except the reply of a peer | let back wait for there: read before back: overwrite"));
}

TEST(MemoryCheckOfTransfers, APeerThatHasItAllDoesNotEndTheSend) {
  EXPECT_THAT(
      findings_of_an_answer(FirstLeg::asks, 0),
      ElementsAre("race: rank 0 there: ask reads x[0, 8) and back: overwrite writes x[0, 8), and nothing orders "
                  "them | let back wait for there: ask before back: overwrite"));
}

TEST(MemoryCheckOfTransfers, ASendMayEndBeforeItsReceiveStarts) {
  EXPECT_THAT(findings_of_an_answer(FirstLeg::is_asked, 16),
              ElementsAre(HasSubstr("back: overwrite writes x[0, 8), and nothing orders them |")));
}

}  // namespace
}  // namespace underlap::check
