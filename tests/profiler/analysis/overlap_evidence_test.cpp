// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/overlap_evidence.hpp"

#include <gmock/gmock.h>

#include <random>
#include <utility>

#include "profiler/analysis/exposure.hpp"
#include "tests/profiler/random_trace.hpp"

namespace underlap::analysis {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

// One rank with streams of the test's choice; operations are numbered as they are added.
class Evidence : public ::testing::Test {
 protected:
  void compute(std::int64_t start, std::int64_t end, const std::string& stream = "compute") {
    add(start, end, stream, {.kind = Kind::compute});
  }
  void comm(std::int64_t start, std::int64_t end, std::int64_t last_arrival = -1, std::int32_t bucket = -1,
            const std::string& stream = "dp") {
    add(start, end, stream,
        {.kind = Kind::communication, .mode = Mode::dp, .purpose = intern("grad_reduce"), .bucket = bucket},
        last_arrival);
  }
  OverlapEvidence find(bool one_connection = false, std::int64_t window_end = 1000) const {
    const std::vector<Window> windows{{.begin_ns = 0, .end_ns = window_end}};
    const EvidenceFinder finder(trace_, windows);
    return finder.find(
        {.is_asked = [](const Tag& tag) { return tag.mode == Mode::dp; }, .one_connection = one_connection});
  }
  // The causes found, each with its exposed time.
  std::vector<std::pair<ExposedCause, std::int64_t>> causes(bool one_connection = false) const {
    std::vector<std::pair<ExposedCause, std::int64_t>> found;
    for (const auto& [cause, share] : find(one_connection).causes) found.emplace_back(cause, share.exposed_ns);
    return found;
  }

  Trace trace_;
  bool is_numbered_ = true;
  bool has_calls_ = false;

 private:
  void add(std::int64_t start, std::int64_t end, const std::string& stream, Tag tag, std::int64_t last_arrival = -1) {
    tag.step = 0;
    const Slice slice{.track = trace_.add_track({0, 0, stream}),
                      .start_ns = start,
                      .duration_ns = end - start,
                      .name = intern("operation"),
                      .operation = is_numbered_ ? ++num_operations_ : 0,
                      .tag = tag};
    if (tag.kind == Kind::communication) {
      trace_.add_group({intern("dp"), {0, 1}});
      trace_.add(slice, {.last_arrival_ns = last_arrival, .transfers = {}});
    } else {
      trace_.add(slice);
    }
    if (has_calls_) add_call();
  }

  // Calls follow each other, whatever they launch.
  void add_call() {
    const auto launched = static_cast<std::uint32_t>(trace_.size() - 1);
    trace_.add({.track = trace_.add_track({0, 1, "main", TrackKind::thread}),
                .start_ns = static_cast<std::int64_t>(launched) - 1000,
                .duration_ns = 1,
                .name = intern("cudaLaunchKernel"),
                .tag = {.kind = Kind::none}});
    trace_.flows.push_back({launched + 1, launched, FlowKind::launch});
  }

  std::uint32_t num_operations_ = 0;
};

TEST_F(Evidence, CountsWhatRanUnderComputeAndHowMuchOfItWasTransfer) {
  compute(0, 60);
  comm(20, 100, 50);
  compute(90, 200);
  const OverlapEvidence found = find();
  EXPECT_EQ(found.operations, 1);
  EXPECT_EQ(found.comm_ns, 80);
  EXPECT_EQ(found.hidden_ns, 50);
  EXPECT_EQ(found.transfer_ns, 50);
  EXPECT_EQ(found.hidden_transfer_ns, 20);
  EXPECT_EQ(found.unsplit_ns, 0);
}

TEST_F(Evidence, CountsAUnionOnceAndCutsAtTheWindow) {
  comm(100, 300);
  comm(200, 400, -1, -1, "second");
  comm(900, 1100);
  compute(150, 250);
  const OverlapEvidence found = find();
  EXPECT_EQ(found.operations, 2);
  EXPECT_EQ(found.operations_outside, 1);
  EXPECT_EQ(found.comm_ns, 400);
  EXPECT_EQ(found.hidden_ns, 100);
  EXPECT_EQ(found.unsplit_ns, 400);
}

TEST_F(Evidence, NothingIsExplainedWhereAllOfItRanUnderCompute) {
  comm(100, 200);
  compute(100, 200);
  EXPECT_THAT(causes(), IsEmpty());
}

TEST_F(Evidence, SameStreamAsTheComputeAfterIt) {
  compute(0, 100, "only");
  comm(100, 200, -1, -1, "only");
  compute(200, 300, "only");
  EXPECT_THAT(causes(), ElementsAre(Pair(ExposedCause::same_stream, 100)));
}

TEST_F(Evidence, NothingToOverlapWith) {
  compute(0, 100);
  comm(100, 200);
  EXPECT_THAT(causes(), ElementsAre(Pair(ExposedCause::no_compute_after, 100)));
}

TEST_F(Evidence, ComputeOfTheNextWindowIsNothingToOverlapWith) {
  comm(100, 200);
  compute(1000, 1100);
  EXPECT_THAT(causes(), ElementsAre(Pair(ExposedCause::no_compute_after, 100)));
}

TEST_F(Evidence, TheStreamOfTheNextWindowsComputeIsNoCause) {
  comm(100, 200, -1, -1, "only");
  compute(1000, 1100, "only");
  EXPECT_THAT(causes(), ElementsAre(Pair(ExposedCause::no_compute_after, 100)));
}

TEST_F(Evidence, ComputeWaitedForItAtOnce) {
  compute(0, 100);
  comm(100, 200);
  compute(205, 300);
  EXPECT_THAT(causes(), ElementsAre(Pair(ExposedCause::waited_at_once, 100)));
  EXPECT_EQ(find().causes.at(ExposedCause::waited_at_once).other, "operation");
}

TEST_F(Evidence, WithoutNumbersOfOperationsWhatBeginsLaterWasEnqueuedLater) {
  is_numbered_ = false;
  compute(0, 100);
  comm(100, 200);
  compute(205, 300);
  EXPECT_THAT(causes(), ElementsAre(Pair(ExposedCause::waited_at_once, 100)));
}

TEST_F(Evidence, ComputeThatWasEnqueuedBeforeItDidNotWaitForIt) {
  compute(300, 400);  // for another reason
  comm(100, 200);
  EXPECT_THAT(causes(), ElementsAre(Pair(ExposedCause::not_shown, 100)));
}

TEST_F(Evidence, LongerThanTheComputeBesideIt) {
  comm(100, 300);
  compute(110, 150);
  compute(300, 400);
  EXPECT_THAT(causes(), ElementsAre(Pair(ExposedCause::outlasted_compute, 160)));
}

TEST_F(Evidence, LongerThanComputeThatIsHardlyAny) {
  comm(100, 300);
  compute(110, 111);
  compute(300, 400);
  EXPECT_THAT(causes(), ElementsAre(Pair(ExposedCause::outlasted_compute, 199)));
}

TEST_F(Evidence, LongerThanTheComputeThatBeganBeforeIt) {
  compute(90, 150);
  comm(100, 300);
  compute(300, 400);
  EXPECT_THAT(causes(), ElementsAre(Pair(ExposedCause::outlasted_compute, 150)));
}

TEST_F(Evidence, TheEndOfTheComputeBeforeItIsNoOverlap) {
  compute(0, 105);  // clocks of two streams need not agree to the last nanosecond
  comm(100, 300);
  compute(300, 400);
  EXPECT_THAT(causes(), ElementsAre(Pair(ExposedCause::waited_at_once, 195)));
}

TEST_F(Evidence, QueuedBehindAnotherOperationOnItsStream) {
  compute(0, 100);
  comm(100, 300, -1, 7);
  compute(100, 200);
  comm(300, 380, -1, 8);  // ready at 200, beside the compute to 300
  compute(200, 300);
  compute(390, 400);
  const OverlapEvidence found = find();
  ASSERT_TRUE(found.causes.contains(ExposedCause::held_by_stream));
  EXPECT_EQ(found.causes.at(ExposedCause::held_by_stream).exposed_ns, 80);
  EXPECT_EQ(found.causes.at(ExposedCause::held_by_stream).other, "grad_reduce (bucket 7)");
  EXPECT_EQ(found.causes.size(), 1U);
}

TEST_F(Evidence, NamesWhatHeldTheWorstOfThem) {
  compute(0, 100);
  for (const std::int64_t at : {100, 400}) {
    comm(at, at + 200, -1, static_cast<std::int32_t>(at));
    compute(at, at + 100);
    comm(at + 200, at + (at == 100 ? 280 : 240));
    compute(at + 100, at + 200);
    compute(at + 290, at + 300);
  }
  const CauseShare share = find().causes.at(ExposedCause::held_by_stream);
  EXPECT_EQ(share.operations, 2);
  EXPECT_EQ(share.exposed_ns, 120);
  EXPECT_EQ(share.longest_ns, 80);
  EXPECT_EQ(share.other, "grad_reduce (bucket 100)");
}

TEST_F(Evidence, AStreamThatWasHeldForASmallPartOfTheDelayIsNoCause) {
  compute(0, 100);
  comm(100, 150);
  comm(400, 480);
  compute(100, 400);
  compute(480, 500);
  EXPECT_THAT(causes(), ElementsAre(Pair(ExposedCause::waited_at_once, 80)));
}

TEST_F(Evidence, AStreamThatWasFreeInTimeHeldNothing) {
  compute(0, 100);
  comm(100, 120);
  compute(100, 300);
  comm(300, 380);  // ready at 300 only
  compute(380, 400);
  EXPECT_THAT(causes(), ElementsAre(Pair(ExposedCause::waited_at_once, 80)));
}

TEST_F(Evidence, AStreamThatWasHeldWhileNothingRanCostNoOverlap) {
  compute(0, 100);
  comm(100, 300);
  comm(300, 380);
  compute(380, 400);
  EXPECT_THAT(causes(), ElementsAre(Pair(ExposedCause::waited_at_once, 280)));
}

TEST_F(Evidence, OneConnection) {
  comm(100, 200);
  comm(200, 300, -1, 4);
  compute(200, 300);  // needs neither, but stood behind the second in the only queue
  EXPECT_THAT(causes(true), ElementsAre(Pair(ExposedCause::one_connection, 100)));
  EXPECT_EQ(find(true).causes.at(ExposedCause::one_connection).other, "grad_reduce (bucket 4)");
  EXPECT_THAT(causes(false), ElementsAre(Pair(ExposedCause::waited_at_once, 100)));
}

TEST_F(Evidence, OneConnectionIsToldByTheOrderOfCallsToo) {
  is_numbered_ = false;
  has_calls_ = true;
  comm(100, 200);
  comm(200, 300, -1, 4);
  compute(200, 300);  // needs neither, but stood behind the second in the only queue
  EXPECT_THAT(causes(true), ElementsAre(Pair(ExposedCause::one_connection, 100)));
  EXPECT_EQ(find(true).causes.at(ExposedCause::one_connection).other, "grad_reduce (bucket 4)");
  EXPECT_THAT(causes(false), ElementsAre(Pair(ExposedCause::waited_at_once, 100)));
}

TEST_F(Evidence, OneConnectionIsNoCauseWhereStartsDoNotFollowTheOrderOfEnqueueing) {
  comm(100, 200);
  comm(250, 300, -1, 4);
  compute(210, 300);
  EXPECT_THAT(causes(true), ElementsAre(Pair(ExposedCause::waited_at_once, 100)));
}

TEST_F(Evidence, OneConnectionIsNoCauseWhereNothingStoodBetween) {
  comm(100, 200);
  compute(200, 300);
  EXPECT_THAT(causes(true), ElementsAre(Pair(ExposedCause::waited_at_once, 100)));
}

TEST_F(Evidence, GivesEachOperationOneCause) {
  compute(0, 100);
  comm(100, 200);
  compute(200, 300);
  comm(250, 290);
  comm(300, 340);
  const OverlapEvidence found = find();
  EXPECT_EQ(found.causes.at(ExposedCause::waited_at_once).operations, 1);
  EXPECT_EQ(found.causes.at(ExposedCause::no_compute_after).operations, 1);
  EXPECT_EQ(found.operations, 3);
}

// Whatever the trace, times are those of the exact split.
TEST(EvidenceOfAnyTrace, AgreesWithTheSplit) {
  std::mt19937 random(5);
  for (int round = 0; round < 20; ++round) {
    const Trace trace = testing_support::random_trace(random);
    std::vector<Window> windows;
    for (const std::int32_t rank : ranks_of(trace))
      for (std::int64_t begin = 0; begin < 400; begin += 100)
        windows.push_back({.rank = rank, .begin_ns = begin, .end_ns = begin + 100});
    CommunicationSplit expected;
    for (const Split& split : split_windows(trace, windows))
      if (const auto dp = split.modes.find("dp"); dp != split.modes.end()) {
        expected.comm_ns += dp->second.comm_ns;
        expected.hidden_ns += dp->second.hidden_ns;
        expected.count += dp->second.count;
      }
    const OverlapEvidence found =
        EvidenceFinder(trace, windows).find({.is_asked = [](const Tag& tag) { return tag.mode == Mode::dp; }});
    EXPECT_EQ(found.comm_ns, expected.comm_ns);
    EXPECT_EQ(found.hidden_ns, expected.hidden_ns);
    EXPECT_EQ(found.operations, expected.count);
  }
}

}  // namespace
}  // namespace underlap::analysis
