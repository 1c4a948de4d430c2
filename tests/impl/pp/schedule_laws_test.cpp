// SPDX-License-Identifier: Apache-2.0
// What pipelines must take and leave exposed, to the nanosecond.
#include <numeric>

#include "impl/plan/config.hpp"
#include "tests/impl/golden_schedule.hpp"
#include "tests/impl/pp/techniques.hpp"

namespace underlap::pp {
namespace {

constexpr std::int64_t kForwardNs = 100, kBackwardNs = 200, kPairNs = kForwardNs + kBackwardNs;  // of one chunk
constexpr std::int64_t kMessageNs = 30;

const plan::PipelineConfig kBatched{.batch_p2p_sync = false}, kUnbatched{.batch_p2p_comm = false};
const plan::PipelineConfig kOverlap{.overlap_p2p_comm = true, .batch_p2p_comm = false};
const plan::PipelineConfig kKept = [] {
  plan::PipelineConfig c = kOverlap;
  c.deallocate_pipeline_outputs = false;
  return c;
}();
const plan::PipelineConfig kFlush = [] {
  plan::PipelineConfig c = kKept;
  c.overlap_p2p_comm_warmup_flush = true;
  return c;
}();

PipelineCase timed(PipelineCase c, std::int64_t message_ns = kMessageNs) {
  c.forward_ns = kForwardNs;
  c.backward_ns = kBackwardNs;
  c.message_ns = message_ns;
  return c;
}

PipelineCase pipeline(std::int32_t stages, std::int32_t chunks, std::int64_t microbatches,
                      const plan::PipelineConfig& how, std::int64_t message_ns = kMessageNs) {
  return timed({.num_stages = stages, .num_chunks = chunks, .num_microbatches = microbatches, .pipeline = how},
               message_ns);
}

// Of the second step, by stage.
std::vector<analysis::Split> splits_of(const PipelineCase& c) {
  const Trace trace = VirtualPipeline(c).play();
  std::vector<analysis::Window> windows = analysis::find_windows(trace).windows;
  std::sort(windows.begin(), windows.end(), [](const auto& a, const auto& b) { return a.rank < b.rank; });
  return analysis::split_windows(trace, windows);
}
std::vector<analysis::CommunicationSplit> exchanges_of(const PipelineCase& c) {
  std::vector<analysis::CommunicationSplit> all;
  for (const analysis::Split& split : splits_of(c)) all.push_back(split.modes.at("pp"));
  return all;
}

std::int64_t step_ns(const PipelineCase& c) { return splits_of(c).front().window_ns; }
// What `more` microbatches add to a step.
std::int64_t added_ns(PipelineCase c, std::int64_t more) {
  const std::int64_t before = step_ns(c);
  c.num_microbatches += more;
  return step_ns(c) - before;
}
// Of equal stages whose exchanges take no time.
std::int64_t ideal_ns(const PipelineCase& c) { return c.num_microbatches * c.num_chunks * kPairNs; }
std::int64_t bubble_ns(const PipelineCase& c) { return (c.num_stages - 1) * kPairNs; }

std::filesystem::path law_of(const TechniqueCase& t) {
  return testing_support::schedules_folder() / t.schedule.value_or("") / "law.yaml";
}
bool states_its_law(const TechniqueCase& t) { return std::filesystem::exists(law_of(t)); }

class PipelineLaw : public testing::TestWithParam<TechniqueCase> {};
INSTANTIATE_TEST_SUITE_P(Techniques, PipelineLaw, testing::ValuesIn(technique_cases()), CaseName());

TEST_P(PipelineLaw, TheBubbleIsThatOfTheStagesOverChunksTimesMicrobatches) {
  const TechniqueCase& t = GetParam();
  for (const std::int32_t p : {2, 4, 8})
    for (const std::int32_t v : t.is_interleaved ? std::vector{2, 4} : std::vector{1})
      for (const std::int64_t m : {p, 2 * p}) {
        if (p < t.fewest_stages || states_its_law(t)) continue;
        const PipelineCase c = timed(t.of(p, v, m), 0);
        const double bubble = static_cast<double>(step_ns(c)) / static_cast<double>(ideal_ns(c)) - 1;
        EXPECT_DOUBLE_EQ(1 + bubble, 1 + static_cast<double>(p - 1) / static_cast<double>(v * m))
            << p << " stages, " << v << " chunks, " << m << " microbatches";
      }
}

// Schedules with another bubble say in tests/data/schedules/<technique>/law.yaml which one. Each entry holds for the
// `times` of forward pass, dgrad and wgrad that it lists; their multiples are what each stage beyond the first adds.
TEST(BubbleLaw, IsTheOneThatAScheduleStates) {
  for (const TechniqueCase& t : asked_cases()) {
    if (!states_its_law(t)) continue;
    for (const YAML::Node& entry : YAML::LoadFile(law_of(t))) {
      const auto multiples = entry["bubble_of_a_stage"].as<std::array<std::int64_t, 3>>();
      for (const auto& times : entry["times"].as<std::vector<std::array<std::int64_t, 3>>>())
        for (const std::int32_t p : {2, 4, 8})
          for (const std::int64_t m : {p, p + 1, 3 * p}) {
            if (p < t.fewest_stages) continue;
            PipelineCase c = t.of(p, m);
            c.forward_ns = times[0];
            c.backward_ns = times[1] + times[2];
            c.wgrad_ns = times[2];
            const std::int64_t bubble = std::inner_product(times.begin(), times.end(), multiples.begin(), 0L);
            EXPECT_EQ(step_ns(c), m * (c.forward_ns + c.backward_ns) + (p - 1) * bubble)
                << t.name << ": " << p << " stages, " << m << " microbatches, times " << testing::PrintToString(times);
          }
    }
  }
}

TEST_P(PipelineLaw, WhatTravelsGrowsWithTheNumberOfChunks) {
  const TechniqueCase& t = GetParam();
  for (const std::int32_t v : t.is_interleaved ? std::vector{2, 3} : std::vector{1}) {
    const PipelineCase c = timed(t.of(4, v, 8));
    std::int64_t bytes = 0;
    for (const analysis::CommunicationSplit& rank : exchanges_of(c)) bytes += rank.bytes_on_wire;
    const std::int64_t message = VirtualPipeline::kRows * VirtualPipeline::kCols * 2;
    // In parts: n of them between stages, and n ranks that each send one to all others.
    const std::int64_t of_all_ranks = t.num_tensor == 1 ? message : message + (t.num_tensor - 1) * message;
    EXPECT_EQ(bytes, 2 * (4 * v - 1) * 8 * of_all_ranks);
  }
}

TEST(WaitedLaws, EveryExchangeIsExposed) {
  for (const PipelineCase& c : {pipeline(2, 1, 4, kBatched), pipeline(4, 1, 8, kBatched), pipeline(4, 1, 8, {}),
                                pipeline(4, 2, 8, kBatched), pipeline(4, 2, 8, {})})
    for (const analysis::CommunicationSplit& stage : exchanges_of(c)) {
      EXPECT_EQ(stage.hidden_ns, 0);
      EXPECT_EQ(stage.exposed_transfer_ns, stage.count * kMessageNs) << "one exchange after the other";
    }
  for (const PipelineCase& c : {pipeline(4, 1, 8, kUnbatched), pipeline(4, 2, 8, kUnbatched)})
    for (const analysis::CommunicationSplit& stage : exchanges_of(c)) EXPECT_EQ(stage.hidden_ns, 0);
}

TEST(WaitedLaws, AMicrobatchAddsTwoExchangesAndBetweenTwoStagesOne) {
  for (const plan::PipelineConfig& how : {kBatched, kUnbatched}) {
    EXPECT_EQ(added_ns(pipeline(2, 1, 6, how), 6), 6 * (kPairNs + kMessageNs));
    EXPECT_EQ(added_ns(pipeline(4, 1, 12, how), 6), 6 * (kPairNs + 2 * kMessageNs));
    EXPECT_EQ(added_ns(pipeline(4, 2, 8, how), 4), 4 * 2 * (kPairNs + kMessageNs)) << "one fused exchange a pair";
  }
}

TEST(WaitedLaws, OneChunkThatIsInterleavedHasOneExchangeAPair) {
  for (const plan::PipelineConfig& how : {kBatched, kUnbatched}) {
    PipelineCase c = pipeline(4, 1, 12, how);
    c.interleaves_one_chunk = true;
    EXPECT_EQ(added_ns(c, 6), 6 * (kPairNs + kMessageNs));
  }
}

TEST(WaitedLaws, InPartsAMessageTakesAnNthAndAGather) {
  constexpr std::int64_t kGatherNs = 7, kPartNs = kMessageNs / 2;
  const auto in_parts = [](PipelineCase c) {
    c.num_tensor = 2;
    c.gather_ns = kGatherNs;
    return c;
  };
  for (const plan::PipelineConfig& how : {kBatched, kUnbatched, plan::PipelineConfig{}}) {
    EXPECT_EQ(added_ns(in_parts(pipeline(2, 1, 6, how)), 6), 6 * (kPairNs + kPartNs + kGatherNs));
    EXPECT_EQ(added_ns(in_parts(pipeline(4, 1, 12, how)), 6), 6 * (kPairNs + 2 * (kPartNs + kGatherNs)));
    EXPECT_EQ(added_ns(in_parts(pipeline(4, 2, 8, how)), 4), 4 * 2 * (kPairNs + kPartNs + 2 * kGatherNs))
        << "one gather for each direction of a fused exchange";
  }
}

TEST(WaitedLaws, GathersStayInsideAStage) {
  PipelineCase c = pipeline(4, 1, 8, kBatched);
  c.num_tensor = 2;
  for (const Program& program : VirtualPipeline(c).programs(1))
    for (const ProgramCommunicator& communicator : program.communicators) {
      if (communicator.purpose != "pp_gather") continue;
      ASSERT_EQ(communicator.group.size(), 2);
      EXPECT_EQ(communicator.group.members[0] / 2, communicator.group.members[1] / 2);
    }
}

TEST(WaitedLaws, TheHostWaitsBehindEveryBatchedExchange) {
  for (const std::int32_t chunks : {1, 2})
    for (const Program& program : VirtualPipeline(pipeline(4, chunks, 4, {})).programs(1)) {
      const auto count = [&](auto is_one) { return std::ranges::count_if(program.commands, is_one); };
      EXPECT_EQ(count([](const ProgramCommand& c) { return c.type == ProgramCommand::Type::synchronize; }),
                count([](const ProgramCommand& c) { return c.tag.mode == Mode::pp; }));
      const auto count_work = [&](HostWork work) {
        return count(
            [&](const ProgramCommand& c) { return c.type == ProgramCommand::Type::host_work && c.work == work; });
      };
      EXPECT_EQ(count_work(HostWork::synchronize),
                count([](const ProgramCommand& c) { return c.type == ProgramCommand::Type::synchronize; }));
      EXPECT_EQ(count_work(HostWork::pass), 2 * chunks * 4) << "each pass is a call of the schedule";
    }
}

class OverlapLaw : public testing::TestWithParam<std::tuple<std::int32_t, std::int32_t, bool>> {
 protected:
  PipelineCase overlapped(std::int64_t microbatches, std::int64_t message_ns = kMessageNs) const {
    const auto [stages, chunks, by_event] = GetParam();
    PipelineCase c = pipeline(stages, chunks, microbatches, by_event ? kOverlap : kKept, message_ns);
    c.release_by_event = by_event;
    return c;
  }
  std::int32_t p() const { return std::get<0>(GetParam()); }
  std::int32_t v() const { return std::get<1>(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Sizes, OverlapLaw,
                         testing::Combine(testing::Values(2, 4, 8), testing::Values(1, 2, 4), testing::Bool()));

TEST_P(OverlapLaw, OnlyFillAndDrainExposeExchanges) {
  const PipelineCase few = overlapped(2 * p()), many = overlapped(4 * p());
  const auto exposed_by_few = exchanges_of(few), exposed_by_many = exchanges_of(many);
  for (std::size_t stage = 0; stage < exposed_by_few.size(); ++stage)
    EXPECT_EQ(exposed_by_few[stage].exposed_ns, exposed_by_many[stage].exposed_ns) << "stage " << stage;
  // Each way through all parts is taken once with nothing beside it.
  EXPECT_EQ(step_ns(many), ideal_ns(many) + bubble_ns(many) + 2 * (p() * v() - 1) * kMessageNs);
}

TEST_P(OverlapLaw, AMessageLongerThanAPassStretchesEachPair) {
  for (const std::int64_t message_ns : {99, 100, 101, 150, 250, 400}) {
    const std::int64_t pair_ns = std::max(kPairNs, message_ns + std::max(kForwardNs, kBackwardNs));
    EXPECT_EQ(added_ns(overlapped(2 * p(), message_ns), p()), p() * v() * pair_ns) << message_ns;
  }
}

TEST_P(OverlapLaw, ADeallocatedOutputExposesItsWayOut) {
  if (v() == 1 && p() == 2) return;  // neither stage sends both ways
  PipelineCase c = overlapped(2 * p());
  c.interleaves_one_chunk = v() == 1;  // without virtual stages nobody waits for a send
  c.pipeline = kOverlap;
  c.release_by_event = false;
  EXPECT_EQ(added_ns(c, p()), p() * v() * (kPairNs + kMessageNs));
}

TEST_P(OverlapLaw, InPartsEachPassThatReceivesExposesItsGather) {
  constexpr std::int64_t kGatherNs = 7;
  PipelineCase c = overlapped(2 * p());
  c.num_tensor = 2;
  c.gather_ns = kGatherNs;
  // Of a microbatch's 2 v passes the first stage receives nothing for one, the last for another, those between for all.
  const auto added = [&](std::int64_t gathers) { return p() * (v() * kPairNs + gathers * kGatherNs); };
  EXPECT_GE(added_ns(c, p()), added(2 * v() - 1));
  EXPECT_LE(added_ns(c, p()), added(p() == 2 ? 2 * v() - 1 : 2 * v()));
}

TEST_P(OverlapLaw, OverlappedFillAndDrainExposeTheFirstWayInAndTheLastWayOut) {
  PipelineCase c = overlapped(4 * p());
  c.pipeline.overlap_p2p_comm_warmup_flush = true;
  EXPECT_EQ(step_ns(c), step_ns(overlapped(4 * p()))) << "with groups of p a chunk's input comes when it is due";
  c.group_size = 2 * p();
  EXPECT_EQ(step_ns(c), ideal_ns(c) + bubble_ns(c) + 2 * (p() - 1) * kMessageNs);
}

}  // namespace
}  // namespace underlap::pp
