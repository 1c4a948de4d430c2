// SPDX-License-Identifier: Apache-2.0
// Orders of passes against tables written by hand from Megatron Core's schedules.
#include "impl/pp/schedule.hpp"

#include "tests/impl/pp/virtual_pipeline.hpp"
#include "tests/testing.hpp"

namespace underlap::pp {
namespace {

using testing::IsSupersetOf;

plan::Config config(std::int32_t stages, std::int32_t chunks, std::int64_t microbatches, std::int64_t group = 0) {
  return PipelineCase{.num_stages = stages, .num_chunks = chunks, .num_microbatches = microbatches, .group_size = group}
      .config();
}

// F2 is the forward pass of microbatch 2, B2 its backward pass, or the first half of that and W2 the second; with
// chunks F2b is the forward pass of the second chunk.
std::string text_of(const Pass& pass, bool names_chunk) {
  const std::string chunk = names_chunk ? std::string(1, static_cast<char>('a' + pass.chunk)) : "";
  return fmt::format("{}{}{}", pass.direction == Direction::forward ? "F" : "B", pass.microbatch, chunk);
}

std::string passes(const plan::Config& c, std::int32_t stage) {
  std::string text;
  const auto add = [&](const Action& action) {
    const std::string pass = text_of(action.pass, c.parallel.virtual_pipeline_model_parallel_size > 1);
    const bool is_wgrad = action.type == Action::Type::wgrad;
    text += (text.empty() ? "" : " ") + (is_wgrad ? "W" + pass.substr(1) : pass);
  };
  const auto script = script_of(c, stage);
  for (const Action& action : script->actions())
    if (action.type <= Action::Type::wgrad) add(action);
  return text;
}

std::int64_t in_flight(const plan::Config& c, std::int32_t stage, std::int32_t chunk) {
  return count_in_flight(*script_of(c, stage), chunk).activations;
}

struct PassesCase {
  std::int32_t stages, chunks;
  std::int64_t microbatches;
  std::int32_t stage;
  const char* passes;
  std::int64_t group = 0;
};

TEST(Schedule, HasThePassesOfMegatronCoreInItsOrder) {
  for (const auto& [stages, chunks, microbatches, stage, expected, group] : {
           PassesCase{1, 1, 3, 0, "F0 B0 F1 B1 F2 B2"},
           {2, 1, 4, 0, "F0 F1 B0 F2 B1 F3 B2 B3"},
           {2, 1, 4, 1, "F0 B0 F1 B1 F2 B2 F3 B3"},
           {4, 1, 5, 0, "F0 F1 F2 F3 B0 F4 B1 B2 B3 B4"},
           {4, 1, 5, 1, "F0 F1 F2 B0 F3 B1 F4 B2 B3 B4"},
           {4, 1, 5, 3, "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4"},
           {4, 1, 2, 0, "F0 F1 B0 B1"},  // fewer microbatches than stages
           {4, 1, 2, 2, "F0 F1 B0 B1"},
           {4, 1, 2, 3, "F0 B0 F1 B1"},
           {2, 2, 4, 0, "F0a F1a F0b F1b F2a B0b F3a B1b F2b B0a F3b B1a B2b B3b B2a B3a"},
           {2, 2, 4, 1, "F0a F1a F0b B0b F1b B1b F2a B0a F3a B1a F2b B2b F3b B3b B2a B3a"},
           // All forward passes are warmup.
           {4, 2, 4, 0, "F0a F1a F2a F3a F0b F1b F2b F3b B0b B1b B2b B3b B0a B1a B2a B3a"},
           {4, 2, 4, 3, "F0a F1a F2a F3a F0b B0b F1b B1b F2b B2b F3b B3b B0a B1a B2a B3a"},
           // Long groups and a remainder.
           {2, 2, 6, 1,
            "F0a F1a F2a F3a F0b B0b F1b B1b F2b B2b F3b B3b F4a B0a F5a B1a F4b B2a F5b B3a B4b B5b B4a B5a", 4},
       })
    EXPECT_EQ(passes(config(stages, chunks, microbatches, group), stage), expected);
}

TEST(PlainSchedule, OfFourStagesThatOverlapHasTwiceAsMuchWarmup) {
  plan::Config c = config(4, 1, 8);
  c.pipeline.overlap_p2p_comm = c.extensions.overlap_without_virtual_stages = true;
  EXPECT_EQ(passes(c, 2), "F0 F1 F2 B0 F3 B1 F4 B2 F5 B3 F6 B4 F7 B5 B6 B7");
  EXPECT_EQ(in_flight(c, 0, 0), 7);
}

TEST(InterleavedSchedule, OfOneChunkHasTwiceTheWarmupOfThePlainOne) {
  plan::Config c = config(4, 1, 8);
  c.parallel.interleaves_one_chunk = true;
  EXPECT_EQ(passes(c, 0), "F0 F1 F2 F3 F4 F5 F6 B0 F7 B1 B2 B3 B4 B5 B6 B7");
  EXPECT_EQ(passes(c, 2), "F0 F1 F2 B0 F3 B1 F4 B2 F5 B3 F6 B4 F7 B5 B6 B7");
  EXPECT_EQ(passes(c, 3), passes(config(4, 1, 8), 3));
  EXPECT_EQ(in_flight(c, 0, 0), 7);
}

TEST(InterleavedSchedule, OfOneChunkLaunchesReductionsOnEveryStage) {
  plan::Config c = config(4, 1, 8);
  c.ddp.overlap_grad_reduce = true;
  EXPECT_FALSE(launches_reduces(c, 0)) << "hooks of the plain schedule's first stage";
  c.parallel.interleaves_one_chunk = true;
  EXPECT_TRUE(launches_reduces(c, 0));
  EXPECT_EQ(Schedule(c, 0).reduce_after_backward(7), 0);
}

TEST(Schedule, CountsWhatIsInFlight) {
  EXPECT_EQ(in_flight(config(4, 1, 8), 0, 0), 4);
  EXPECT_EQ(in_flight(config(4, 1, 8), 3, 0), 1);
  EXPECT_EQ(in_flight(config(4, 1, 2), 0, 0), 2);
  EXPECT_EQ(in_flight(config(1, 1, 8), 0, 0), 1);
  // F0a F1a F0b F1b F2a B0b F3a B1b F2b B0a ...: at most four of the first chunk, two of the second.
  EXPECT_EQ(in_flight(config(2, 2, 4), 0, 0), 4);
  EXPECT_EQ(in_flight(config(2, 2, 4), 0, 1), 2);
  EXPECT_EQ(in_flight(config(2, 2, 4), 1, 0), 3);
  EXPECT_EQ(in_flight(config(2, 2, 4), 1, 1), 1);
}

// What arrives beside each pass of a direction; - for nothing.
std::vector<std::string> arrivals(const plan::Config& c, std::int32_t stage, Direction direction) {
  const Schedule schedule(c, stage);
  std::vector<std::string> all;
  for (std::int64_t k = 0; k < schedule.num_passes(); ++k) {
    const auto pass = schedule.arrival(direction, k);
    all.push_back(pass ? text_of(*pass, schedule.num_chunks() > 1) : "-");
  }
  return all;
}

TEST(Schedule, WhatArrivesIsTheInputOfTheNextPass) {
  EXPECT_THAT(arrivals(config(2, 2, 2), 1, Direction::forward), ElementsAre("F1a", "F0b", "F1b", "-"));
  EXPECT_THAT(arrivals(config(2, 2, 2), 0, Direction::backward), ElementsAre("B1b", "B0a", "B1a", "-"));
}

TEST(Schedule, WhereADirectionBeginsWhatArrivesWasMadeAtTheFarEndJustNow) {
  EXPECT_THAT(arrivals(config(2, 2, 2), 0, Direction::forward), ElementsAre("-", "F0b", "F1b", "-"));
  EXPECT_THAT(arrivals(config(3, 2, 4, 4), 0, Direction::forward),
              ElementsAre("-", "-", "F0b", "F1b", "F2b", "F3b", "-", "-"))
      << "in groups of four F0b comes a pass before it is due";
  EXPECT_THAT(arrivals(config(2, 2, 2), 1, Direction::backward), ElementsAre("-", "B0a", "B1a", "-"));
  EXPECT_THAT(arrivals(config(2, 1, 2), 0, Direction::forward), ElementsAre("-", "-"));
}

TEST(Schedule, HooksReduceWhereNoScheduleDoes) {
  plan::Config c = config(2, 1, 2);
  EXPECT_TRUE(reduces_by_hooks(c, 0));
  EXPECT_FALSE(reduces_by_hooks(c, 1));
  EXPECT_TRUE(reduces_by_hooks(config(1, 1, 2), 0));
  EXPECT_FALSE(reduces_by_hooks(config(2, 2, 2), 0));
  c.ddp.align_grad_reduce = false;
  EXPECT_TRUE(reduces_by_hooks(c, 1));
  EXPECT_FALSE(launches_reduces(config(2, 2, 2), 0)) << "without overlap_grad_reduce";
}

// Writes down what it is asked for.
class Listener final : public Stage {
 public:
  void forward(std::int32_t chunk, std::int64_t microbatch, const View&, const View&) override {
    add(fmt::format("F{}{}", microbatch, static_cast<char>('a' + chunk)));
  }
  void backward(std::int32_t chunk, std::int64_t microbatch, const View&, const View&) override {
    add(fmt::format("B{}{}", microbatch, static_cast<char>('a' + chunk)));
  }
  void dgrad(std::int32_t chunk, std::int64_t microbatch, const View& d_output, const View& d_input) override {
    backward(chunk, microbatch, d_output, d_input);
  }
  void wgrad(std::int32_t chunk, std::int64_t microbatch) override {
    add(fmt::format("W{}{}", microbatch, static_cast<char>('a' + chunk)));
  }
  void start_param_gather(std::int32_t chunk) override { add(fmt::format("gather({})", chunk)); }
  void start_grad_reduce(std::int32_t chunk) override { add(fmt::format("reduce({})", chunk)); }
  void finish_deferred_wgrads() override { add("wgrads"); }

  std::string text;

 private:
  void add(const std::string& word) { text += (text.empty() ? "" : " ") + word; }
};

std::string heard(const plan::Config& c, std::int32_t stage) {
  RecordingDevice device;
  const Context context{.device = &device,
                        .config = &c,
                        .group = testing_support::group_of(c.parallel.pipeline_model_parallel_size, stage),
                        .compute = device.create_stream("compute"),
                        .tensor = {},
                        .rows = 1,
                        .cols = 1};
  Listener listener;
  make_pipeline(context)->run(listener, 0);
  return listener.text;
}

TEST(AlignedGathers, BeginWithTwoChunksAndGoOnWhereTheFirstMicrobatchOfAChunkIsDue) {
  plan::Config c = config(2, 4, 2);
  c.ddp.overlap_param_gather = c.ddp.align_param_gather = true;
  c.pipeline.overlap_p2p_comm = true;
  // Stage 0 begins chunk b with its third pass, and stage 1 is one pass behind.
  EXPECT_THAT(heard(c, 0), StartsWith("gather(0) gather(1) F0a F1a gather(2) F0b F1b gather(3) F0c F1c F0d"));
  EXPECT_THAT(heard(c, 1), StartsWith("gather(0) gather(1) F0a gather(2) F1a F0b gather(3) F1b F0c F1c"));
}

TEST(AlignedGathers, AreNoneWithoutVirtualStages) {
  plan::Config c = config(2, 1, 2);
  c.ddp.overlap_param_gather = c.ddp.align_param_gather = true;
  EXPECT_EQ(heard(c, 0), "F0a F1a B0a B1a");
}

TEST(AlignedReductions, OfAChunkBeginAPassLaterOnEachStageAndTheRestAtTheEnd) {
  plan::Config c = config(2, 2, 2);
  c.ddp.overlap_grad_reduce = true;
  c.pipeline.overlap_p2p_comm = true;
  EXPECT_EQ(heard(c, 0), "F0a F1a F0b F1b B0b B1b reduce(1) B0a B1a reduce(0)");
  EXPECT_EQ(heard(c, 1), "F0a F1a F0b B0b F1b B1b B0a reduce(1) B1a reduce(0)");
}

TEST(AlignedReductions, WithoutVirtualStagesFollowTheLastPassButOnTheFirstStage) {
  plan::Config c = config(2, 1, 2);
  c.ddp.overlap_grad_reduce = true;
  EXPECT_EQ(heard(c, 0), "F0a F1a B0a B1a") << "hooks launch them";
  EXPECT_EQ(heard(c, 1), "F0a B0a F1a B1a reduce(0)");
}

TEST(DeferredWgrads, AreFormedOnTheLastStageBeforeTheirGradientsAreReduced) {
  plan::Config c = config(2, 2, 2);
  c.pipeline.overlap_p2p_comm = c.pipeline.defer_embedding_wgrad_compute = true;
  EXPECT_THAT(heard(c, 0), Not(HasSubstr("wgrads")));
  EXPECT_THAT(heard(c, 1), EndsWith("B1a wgrads"));
  c.ddp.overlap_grad_reduce = true;
  EXPECT_EQ(heard(c, 1), "F0a F1a F0b B0b F1b B1b B0a B1a reduce(0) wgrads reduce(1)");
}

TEST(Techniques, OfPipelinesAreListedAndFollowFromStagesAndOverlap) {
  std::vector<std::string_view> names;
  for (const auto& technique : Pipelines::all()) names.push_back(technique.name);
  EXPECT_THAT(names, IsSupersetOf({"interleaved", "one_forward_one_backward", "overlapped", "single_stage"}));
  for (const std::int32_t stages : {1, 2})
    for (const std::int32_t chunks : {1, 2})
      for (const bool overlap : {false, true}) {
        plan::Config c = config(stages, stages == 1 ? 1 : chunks, 2);
        c.pipeline.overlap_p2p_comm = overlap;
        EXPECT_EQ(Pipelines::in_effect(c).name, stages == 1   ? "single_stage"
                                                : overlap     ? "overlapped"
                                                : chunks == 1 ? "one_forward_one_backward"
                                                              : "interleaved");
      }
}

}  // namespace
}  // namespace underlap::pp
