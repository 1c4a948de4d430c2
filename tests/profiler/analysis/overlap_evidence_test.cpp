// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/overlap_evidence.hpp"

#include <gmock/gmock.h>

#include <utility>

#include "profiler/analysis/exposure.hpp"
#include "tests/profiler/random_trace.hpp"

namespace underlap::analysis {
namespace {

using ::testing::ElementsAreArray;

struct Work {
  Kind kind = Kind::compute;
  std::int64_t start = 0, end = 0;
  std::string stream = {};
  std::int64_t last_arrival = -1;
  std::int32_t bucket = -1;
};

Work compute(std::int64_t start, std::int64_t end, const std::string& stream = "compute") {
  return {Kind::compute, start, end, stream};
}
Work comm(std::int64_t start, std::int64_t end, const std::string& stream = "dp") {
  return {Kind::communication, start, end, stream};
}
Work bucket(std::int32_t number, std::int64_t start, std::int64_t end) {
  return {Kind::communication, start, end, "dp", -1, number};
}

// How a trace tells what was enqueued after what.
enum class Order { numbers, calls, starts };

OverlapEvidence find_evidence_of_dp(const Trace& trace, const std::vector<Window>& windows, bool one_connection) {
  const EvidenceRequest request{.is_asked = [](const Tag& tag) { return tag.mode == Mode::dp; },
                                .one_connection = one_connection};
  return find_evidence(trace, windows, {&request, 1}).front();
}

// One rank that does this work, enqueued one after the other, in a window of 1000.
class Evidence {
 public:
  explicit Evidence(const std::vector<Work>& work, Order order = Order::numbers) : order_(order) {
    trace_.add_group({intern("dp"), {0, 1}});
    for (const Work& one : work) add(one);
  }

  OverlapEvidence find(bool one_connection = false) const {
    const std::vector<Window> windows{{.begin_ns = 0, .end_ns = 1000}};
    return find_evidence_of_dp(trace_, windows, one_connection);
  }

 private:
  void add(const Work& work) {
    Slice slice{.track = trace_.add_track({0, 0, work.stream}),
                .start_ns = work.start,
                .duration_ns = work.end - work.start,
                .name = intern("operation"),
                .operation = order_ == Order::numbers ? ++num_operations_ : 0,
                .tag = {.kind = work.kind, .step = 0}};
    if (work.kind == Kind::communication) {
      slice.tag.mode = Mode::dp;
      slice.tag.purpose = intern("grad_reduce");
      slice.tag.bucket = work.bucket;
      trace_.add(slice, {.last_arrival_ns = work.last_arrival, .transfers = {}});
    } else {
      trace_.add(slice);
    }
    if (order_ == Order::calls) add_call();
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

  Order order_;
  Trace trace_;
  std::uint32_t num_operations_ = 0;
};

TEST(Evidence, CountsWhatRanUnderComputeAndHowMuchOfItWasTransfer) {
  const OverlapEvidence found =
      Evidence({compute(0, 60), {Kind::communication, 20, 100, "dp", 50}, compute(90, 200)}).find();
  EXPECT_EQ(found.operations, 1);
  EXPECT_EQ(found.comm_ns, 80);
  EXPECT_EQ(found.hidden_ns, 50);
  EXPECT_EQ(found.transfer_ns, 50);
  EXPECT_EQ(found.hidden_transfer_ns, 20);
  EXPECT_EQ(found.unsplit_ns, 0);
}

TEST(Evidence, CountsAUnionOnceAndCutsAtTheWindow) {
  const OverlapEvidence found =
      Evidence({comm(100, 300), comm(200, 400, "second"), comm(900, 1100), compute(150, 250)}).find();
  EXPECT_EQ(found.operations, 2);
  EXPECT_EQ(found.operations_outside, 1);
  EXPECT_EQ(found.comm_ns, 400);
  EXPECT_EQ(found.hidden_ns, 100);
  EXPECT_EQ(found.unsplit_ns, 400);
}

struct ExposedCase {
  const char* name;
  std::vector<Work> work;
  std::vector<std::pair<ExposedCause, std::int64_t>> causes;  ///< each with its exposed time
  Order order = Order::numbers;
};

void PrintTo(const ExposedCase& tested, std::ostream* out) { *out << tested.name; }

class ExposedCauses : public ::testing::TestWithParam<ExposedCase> {};

TEST_P(ExposedCauses, AreTold) {
  std::vector<std::pair<ExposedCause, std::int64_t>> found;
  for (const auto& [cause, share] : Evidence(GetParam().work, GetParam().order).find().causes)
    found.emplace_back(cause, share.exposed_ns);
  EXPECT_THAT(found, ElementsAreArray(GetParam().causes));
}

using enum ExposedCause;
INSTANTIATE_TEST_SUITE_P(
    , ExposedCauses,
    ::testing::Values(
        ExposedCase{"NoneWhereAllOfItRanUnderCompute", {comm(100, 200), compute(100, 200)}, {}},
        ExposedCase{"SameStreamAsTheComputeAfterIt",
                    {compute(0, 100, "only"), comm(100, 200, "only"), compute(200, 300, "only")},
                    {{same_stream, 100}}},
        ExposedCase{"NothingToOverlapWith", {compute(0, 100), comm(100, 200)}, {{no_compute_after, 100}}},
        ExposedCase{"ComputeOfTheNextWindowIsNothingToOverlapWith",
                    {comm(100, 200), compute(1000, 1100)},
                    {{no_compute_after, 100}}},
        ExposedCase{"TheStreamOfTheNextWindowsComputeIsNoCause",
                    {comm(100, 200, "only"), compute(1000, 1100, "only")},
                    {{no_compute_after, 100}}},
        ExposedCase{"WithoutNumbersOfOperationsWhatBeginsLaterWasEnqueuedLater",
                    {compute(0, 100), comm(100, 200), compute(205, 300)},
                    {{waited_at_once, 100}},
                    Order::starts},
        ExposedCase{"ComputeThatWasEnqueuedBeforeItDidNotWaitForIt",
                    {compute(300, 400), comm(100, 200)},  // that compute waited for another reason
                    {{not_shown, 100}}},
        ExposedCase{"LongerThanTheComputeBesideIt",
                    {comm(100, 300), compute(110, 150), compute(300, 400)},
                    {{outlasted_compute, 160}}},
        ExposedCase{"LongerThanComputeThatIsHardlyAny",
                    {comm(100, 300), compute(110, 111), compute(300, 400)},
                    {{outlasted_compute, 199}}},
        ExposedCase{"LongerThanTheComputeThatBeganBeforeIt",
                    {compute(90, 150), comm(100, 300), compute(300, 400)},
                    {{outlasted_compute, 150}}},
        // Clocks of two streams need not agree to the last nanosecond.
        ExposedCase{"TheEndOfTheComputeBeforeItIsNoOverlap",
                    {compute(0, 105), comm(100, 300), compute(300, 400)},
                    {{waited_at_once, 195}}},
        ExposedCase{"AStreamThatWasHeldForASmallPartOfTheDelayIsNoCause",
                    {compute(0, 100), comm(100, 150), comm(400, 480), compute(100, 400), compute(480, 500)},
                    {{waited_at_once, 80}}},
        ExposedCase{"AStreamThatWasFreeInTimeHeldNothing",
                    {compute(0, 100), comm(100, 120), compute(100, 300), comm(300, 380), compute(380, 400)},
                    {{waited_at_once, 80}}},
        ExposedCase{"AStreamThatWasHeldWhileNothingRanCostNoOverlap",
                    {compute(0, 100), comm(100, 300), comm(300, 380), compute(380, 400)},
                    {{waited_at_once, 280}}}),
    [](const auto& tested) { return tested.param.name; });

TEST(Evidence, ComputeWaitedForItAtOnce) {
  const OverlapEvidence found = Evidence({compute(0, 100), comm(100, 200), compute(205, 300)}).find();
  ASSERT_EQ(found.causes.size(), 1U);
  EXPECT_EQ(found.causes.at(waited_at_once).exposed_ns, 100);
  EXPECT_EQ(found.causes.at(waited_at_once).other, "operation");
}

TEST(Evidence, QueuedBehindAnotherOperationOnItsStream) {
  // The second bucket is ready at 200, beside the compute to 300.
  const OverlapEvidence found = Evidence({compute(0, 100), bucket(7, 100, 300), compute(100, 200), bucket(8, 300, 380),
                                          compute(200, 300), compute(390, 400)})
                                    .find();
  ASSERT_TRUE(found.causes.contains(held_by_stream));
  EXPECT_EQ(found.causes.at(held_by_stream).exposed_ns, 80);
  EXPECT_EQ(found.causes.at(held_by_stream).other, "grad_reduce (bucket 7)");
  EXPECT_EQ(found.causes.size(), 1U);
}

TEST(Evidence, NamesWhatHeldTheWorstOfThem) {
  std::vector<Work> work{compute(0, 100)};
  for (const std::int64_t at : {100, 400})
    work.insert(work.end(), {bucket(static_cast<std::int32_t>(at), at, at + 200), compute(at, at + 100),
                             comm(at + 200, at + (at == 100 ? 280 : 240)), compute(at + 100, at + 200),
                             compute(at + 290, at + 300)});
  const CauseShare share = Evidence(work).find().causes.at(held_by_stream);
  EXPECT_EQ(share.operations, 2);
  EXPECT_EQ(share.exposed_ns, 120);
  EXPECT_EQ(share.longest_ns, 80);
  EXPECT_EQ(share.other, "grad_reduce (bucket 100)");
}

TEST(Evidence, OneConnectionIsToldByNumbersAndByTheOrderOfCalls) {
  for (const Order order : {Order::numbers, Order::calls}) {
    // The compute needs neither, but stood behind the second in the only queue.
    const Evidence evidence({comm(100, 200), bucket(4, 200, 300), compute(200, 300)}, order);
    const OverlapEvidence one = evidence.find(true), several = evidence.find(false);
    ASSERT_EQ(one.causes.size(), 1U);
    EXPECT_EQ(one.causes.at(one_connection).exposed_ns, 100);
    EXPECT_EQ(one.causes.at(one_connection).other, "grad_reduce (bucket 4)");
    ASSERT_EQ(several.causes.size(), 1U);
    EXPECT_EQ(several.causes.at(waited_at_once).exposed_ns, 100);
  }
}

TEST(Evidence, OneConnectionIsNoCauseWhereStartsAreInAnotherOrderOrNothingStoodBetween) {
  for (const std::vector<Work>& work :
       {std::vector{comm(100, 200), bucket(4, 250, 300), compute(210, 300)}, {comm(100, 200), compute(200, 300)}}) {
    const OverlapEvidence found = Evidence(work).find(true);
    ASSERT_EQ(found.causes.size(), 1U);
    EXPECT_EQ(found.causes.at(waited_at_once).exposed_ns, 100);
  }
}

TEST(Evidence, GivesEachOperationOneCause) {
  const OverlapEvidence found =
      Evidence({compute(0, 100), comm(100, 200), compute(200, 300), comm(250, 290), comm(300, 340)}).find();
  EXPECT_EQ(found.causes.at(waited_at_once).operations, 1);
  EXPECT_EQ(found.causes.at(no_compute_after).operations, 1);
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
    const OverlapEvidence found = find_evidence_of_dp(trace, windows, false);
    EXPECT_EQ(found.comm_ns, expected.comm_ns);
    EXPECT_EQ(found.hidden_ns, expected.hidden_ns);
    EXPECT_EQ(found.operations, expected.count);
  }
}

}  // namespace
}  // namespace underlap::analysis
