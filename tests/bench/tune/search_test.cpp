// SPDX-License-Identifier: Apache-2.0
// The search against every combination of small spaces, and the parts that it rests on.
#include "bench/tune/search.hpp"

#include <fmt/format.h>

#include "bench/tune/space.hpp"
#include "bench/tune/tune_report.hpp"
#include "impl/device/sim/machine.hpp"
#include "impl/plan/layout/chunk_buckets.hpp"
#include "impl/step/simulation.hpp"
#include "profiler/analysis/exposure.hpp"
#include "profiler/analysis/windows.hpp"
#include "tests/profiler/temporary_folder.hpp"
#include "tests/testing.hpp"

namespace underlap::bench {
namespace {

// What the tests of one kind of parallelism leave to the others.
constexpr const char* kModel =
    "num_layers: 4, seq_length: 2048, vocab_size: 32000, context_parallel_size: 1, "
    "recompute_granularity: null";
constexpr const char* kEnvironment = "environment: {layernorm_sm_margin: 16, cuda_device_max_connections: 8}\n";

constexpr const char* kDataSpace =
    "comm_overlap: {tp_comm_overlap: false}\n"
    "ddp: {average_in_collective: false, pad_buckets_for_high_nccl_busbw: false}\n"
    "train: {micro_batch_size: 1}\n";
constexpr const char* kPipelineSpace =
    "comm_overlap: {overlap_grad_reduce: true, overlap_param_gather: true, bucket_size: 40000000, "
    "align_param_gather: false, overlap_param_gather_with_optimizer_step: false}\n"
    "ddp: {average_in_collective: false, pad_buckets_for_high_nccl_busbw: false, align_grad_reduce: true}\n"
    "train: {micro_batch_size: 1}\n";
constexpr const char* kTensorSpace =
    "comm_overlap: {overlap_grad_reduce: true, overlap_param_gather: true, bucket_size: 40000000, tp_comm_overlap_cfg: "
    "{qkv_fprop: {method: ring_exchange}, fc1_fprop: {method: ring_exchange}, fc2_dgrad: {method: ring_exchange}, "
    "proj_dgrad: {method: ring_exchange}, qkv_dgrad: {method: bulk}, qkv_wgrad: {method: bulk}, fc1_dgrad: {method: "
    "bulk}, fc1_wgrad: {method: bulk}}}\n"
    "ddp: {average_in_collective: false, pad_buckets_for_high_nccl_busbw: false}\n"
    "train: {micro_batch_size: 1}\n";

TuneRequest request_for(const std::string& yaml, std::int64_t gpus = 2, std::int64_t batch = 0) {
  TuneRequest request;
  request.model = {yaml, "model.yaml", {}};
  request.num_gpus = gpus;
  if (batch > 0) request.batch = batch;
  return request;
}

SearchResult found(const TuneJob& job) {
  SimulatedSteps steps("", false, "");
  return search(job, steps, {});
}

TuneRequest request_of(const std::string& model, const std::string& more, std::int64_t gpus = 8,
                       const std::string& preset = "llama3-8b") {
  return request_for(fmt::format("model: {{preset: {}, {}, {}}}\n{}{}run: {{hardware: h100-sxm}}\n", preset, kModel,
                                 model, kEnvironment, more),
                     gpus, 32);
}

struct Space {
  const char* name;
  const char* model;
  const char* more;
};

class SmallSpace : public ::testing::TestWithParam<Space> {};

TEST_P(SmallSpace, HasNoBetterStepThanTheSearchFinds) {
  const TuneJob job(request_of(GetParam().model, GetParam().more));
  SimulatedSteps simulated("", false, "");
  const SearchResult some = found(job), all = search_exhaustively(job, simulated, {});
  ASSERT_FALSE(some.best.empty());
  ASSERT_GT(all.counts.simulated, 50) << "no space to search";
  EXPECT_LE(some.best.front().step.step_ns, all.best.front().step.step_ns)
      << text_of(some.best.front().choices) << "\nagainst\n"
      << text_of(all.best.front().choices);
}

INSTANTIATE_TEST_SUITE_P(Search, SmallSpace,
                         ::testing::Values(Space{"Data", "pipeline_model_parallel_size: 1", kDataSpace},
                                           Space{"Pipeline", "tensor_model_parallel_size: 1", kPipelineSpace},
                                           Space{"Tensor", "pipeline_model_parallel_size: 1, sequence_parallel: true",
                                                 kTensorSpace}),
                         CaseName());

TEST(Search, TakesTheLeastRecomputationThatFits) {
  TuneRequest request = request_of("tensor_model_parallel_size: 1, pipeline_model_parallel_size: 1", kDataSpace, 2);
  const plan::Plan whole = found(TuneJob(request)).best.front().plan;
  ASSERT_EQ(whole.config.recompute.method, plan::RecomputeMethod::none);
  request.limit_bytes = whole.peak_memory.total() - 1;
  const plan::Plan tight = found(TuneJob(request)).best.front().plan;
  EXPECT_LE(tight.peak_memory.total(), *request.limit_bytes);
}

// A pipeline is the best of the layouts as their rules choose, and has no use for buckets; data parallelism with small
// ones is better than any pipeline.
TEST(Search, TriesTheKnobsOfEachKindOfLayout) {
  const TuneJob job(
      request_for("model: {preset: tiny, tensor_model_parallel_size: 1, context_parallel_size: 1}\n"
                  "environment: {layernorm_sm_margin: 0, cuda_device_max_connections: 8}\n"
                  "run: {hardware: " UNDERLAP_SOURCE_DIR "/tests/data/hardware/two_cores.yaml}\n",
                  2, 16));
  const TunedConfig best = found(job).best.front();
  const plan::Config in_buckets =
      job.plan({{"train.micro_batch_size", "8"}, {"comm_overlap.bucket_size", "200000"}}).config;
  EXPECT_LE(best.step.step_ns, step_ns(in_buckets, job.hardware_of(in_buckets))) << text_of(best.choices);
}

TEST(Search, SaysWhatEachKnobIsWorth) {
  const TuneJob job(request_of("tensor_model_parallel_size: 1, pipeline_model_parallel_size: 1", kDataSpace));
  const TunedConfig best = found(job).best.front();
  const auto reduce = std::ranges::find(best.worth, "overlap_grad_reduce", &KnobWorth::name);
  ASSERT_NE(reduce, best.worth.end());
  Choices off = best.choices;
  off["comm_overlap.overlap_grad_reduce"] = "false";
  EXPECT_NEAR(double(reduce->step_ns), double(step_ns(job.plan(off).config, job.hardware_of(best.plan.config))),
              0.002 * double(best.step.step_ns));
}

TEST(TuneText, SaysWhyAKnobCannotBeChangedAlone) {
  const TuneJob job(request_of("tensor_model_parallel_size: 1, pipeline_model_parallel_size: 1", kDataSpace));
  SearchResult result;
  result.best.push_back({.choices = {}, .plan = job.plan({}), .step = {.step_ns = 1000}, .least_step_ns = 900});
  result.best[0].worth = {{"comm_overlap.some_knob", "true", "false", 1010, ""},
                          {"comm_overlap.other_knob", "true", "off", 0, "it needs some_knob"}};
  const std::string text = tune_text(job, result, plan::FlopConvention::full, {});
  EXPECT_THAT(text, HasSubstr("-: other_knob changed to off gives no step: it needs some_knob\n"));
  EXPECT_THAT(text, Not(HasSubstr("some_knob changed to false")));
}

// The steps of the files that are written, beside what the search says of them.
TEST(Search, WritesConfigurationsThatPlayAsItSays) {
  const testing_support::TemporaryFolder folder;
  const std::string preset = std::string(kDataSpace)
                                 .replace(0, std::string("comm_overlap: {tp_comm_overlap: false}").size(),
                                          "comm_overlap: {overlap_grad_reduce: true}");
  for (const std::string& more : {std::string(kTensorSpace), preset}) {
    const TuneJob job(
        request_of("tensor_model_parallel_size: 4, pipeline_model_parallel_size: 1", more, 8, "llama3-70b"));
    const SearchResult result = found(job);
    const std::vector<std::string> names = write_configs(job, result, folder / "");
    for (std::size_t i = 0; i < names.size(); ++i) {
      const plan::Matrix matrix = plan::load(folder / names[i]);
      ASSERT_TRUE(matrix.errors.empty()) << matrix.errors.front().message;
      const plan::Config& config = matrix.cells.front().plan.config;
      EXPECT_EQ(step_ns(config, job.hardware_of(config)), result.best[i].step.step_ns)
          << testing_support::read_text(folder / names[i]);
    }
  }
}

TEST(TuneJob, KeepsWhatTheFileSays) {
  const TuneJob job(request_of("tensor_model_parallel_size: 4", kDataSpace));
  EXPECT_FALSE(job.is_open("model.tensor_model_parallel_size"));
  EXPECT_TRUE(job.is_open("model.pipeline_model_parallel_size"));
  for (const Choices& layout : layouts_of(job))
    EXPECT_EQ(job.plan(layout).config.parallel.tensor_model_parallel_size, 4) << text_of(layout);
}

// A step without transfers is always the shortest, and no training step.
TEST(TuneJob, LeavesOutCellsThatChangeWhatIsComputedUnlessAskedForThem) {
  TuneRequest request = request_for(
      "model: {preset: tiny}\nrun: {hardware: h100-sxm}\nmatrix:\n  overlap:\n    - {name: off}\n"
      "    - {name: no_comm, no_comm: true}\n    - {name: bf16, mixed_precision.grad_reduce_in_fp32: false}\n");
  const TuneJob job(request);
  EXPECT_EQ(job.cells().size(), 1U);
  EXPECT_TRUE(job.cells().contains("off"));
  EXPECT_THAT(job.notes(), Contains(HasSubstr("left out, since a faster step there")));
  request.all_cells = true;
  EXPECT_EQ(TuneJob(request).cells().size(), 3U);
}

TEST(TuneJob, BeginsAroundAConfigurationAndKeepsItsModel) {
  TuneRequest request = request_of("tensor_model_parallel_size: 4", kDataSpace);
  request.around = true;
  const TuneJob job(request);
  EXPECT_TRUE(job.is_open("model.tensor_model_parallel_size"));
  EXPECT_FALSE(job.is_open("model.num_layers"));
  EXPECT_EQ(job.start().at("comm_overlap.tp_comm_overlap"), "false");
}

// A bucket that holds all weights is no other than the next larger one.
TEST(TuneSpace, TriesBucketsThatCutTheModelWhateverItsSize) {
  for (const char* const preset : {"tiny", "llama3-8b"}) {
    const TuneJob job(request_for(fmt::format("model: {{preset: {}}}\nrun: {{hardware: h100-sxm}}\n", preset)));
    const plan::Config config = job.plan({}).config;
    std::int64_t elements = 0;
    for (const plan::Bucket& bucket : plan::bucket_layout(config).buckets) elements += bucket.elements();
    const std::vector<plan::SearchAxis> axes = overlap_axes(job, config);
    const auto axis = std::ranges::find(axes, "comm_overlap.bucket_size", &plan::SearchAxis::knob);
    ASSERT_NE(axis, axes.end());
    EXPECT_GE(axis->values.size(), 6U) << preset;
    for (const std::string& value : axis->values) {
      if (!value.empty()) {
        EXPECT_LT(std::stoll(value), elements) << preset;
      }
    }
  }
}

// Stages, chunks of each, layers, and the knobs of that split.
struct Split {
  int layers, stages, chunks;
  const char* knobs;
};

std::string split_found(const TuneJob& job, const Split& split) {
  for (const Choices& layout : layouts_of(job)) {
    const plan::ParallelConfig parallel = job.plan(layout).config.parallel;
    if (parallel.pipeline_model_parallel_size != split.stages ||
        parallel.virtual_pipeline_model_parallel_size != split.chunks)
      continue;
    std::string knobs;
    for (const auto& [knob, value] : layout)
      if (knob.find("in_pipeline_split") != std::string::npos || knob.find("pipeline_stage") != std::string::npos ||
          knob.find("parallel_layout") != std::string::npos)
        knobs += fmt::format("{}={} ", knob.substr(knob.find('.') + 1), value);
    return knobs;
  }
  return "not tried";
}

TEST(TuneSpace, DealsLayersOutUnevenlyWhereStagesShareThemNearlyAlike) {
  constexpr const char* kBoth = "account_for_embedding_in_pipeline_split=true account_for_loss_in_pipeline_split=true ";
  for (const Split& split :
       {Split{32, 4, 2, ""}, Split{126, 8, 8, kBoth}, Split{30, 4, 4, kBoth},
        Split{31, 4, 2, "account_for_loss_in_pipeline_split=true "},
        Split{60, 8, 1, "num_layers_in_first_pipeline_stage=6 num_layers_in_last_pipeline_stage=6 "},
        Split{60, 8, 2,
              "pipeline_model_parallel_layout=\"Et*3|t*4|t*4|t*4|t*4|t*4|t*4|t*4|t*4|t*4|t*4|t*4|t*"
              "4|t*3|t*3|t*3L\" "},
        Split{32, 4, 3, "not tried"}, Split{20, 8, 1, "not tried"}}) {
    const TuneJob job(request_for(
        fmt::format("model: {{preset: llama3-8b, num_layers: {}, seq_length: 2048, tensor_model_parallel_size: 1, "
                    "context_parallel_size: 1}}\ntrain: {{micro_batch_size: 1}}\nrun: {{hardware: h100-sxm}}\n",
                    split.layers),
        8, 64));
    EXPECT_EQ(split_found(job, split), split.knobs) << split.layers << ' ' << split.stages << ' ' << split.chunks;
  }
}

TEST(TuneSpace, EveryLayoutOfUnevenLayersHasAPlan) {
  const TuneJob job(request_for(
      "model: {preset: llama3-8b, num_layers: 60, seq_length: 2048}\nrun: {hardware: h100-sxm}\n", 64, 8192));
  int uneven = 0;
  for (const Choices& layout : layouts_of(job)) {
    const plan::Plan plan = job.plan(layout);
    EXPECT_THAT(plan.errors, IsEmpty()) << text_of(layout) << plan.errors.front().message;
    uneven += !plan.config.parallel.layers_of_ranges.empty();
  }
  EXPECT_GT(uneven, 0);
}

TEST(StepTimes, ShortStepsTellThatOfManyMicrobatches) {
  const TuneJob job(request_of("tensor_model_parallel_size: 2, sequence_parallel: true", kDataSpace, 8));
  for (const Choices& layout : layouts_of(job)) {
    const plan::Plan plan = job.plan(layout);
    if (!plan.errors.empty()) continue;
    const auto [fewer, more] = shortened(plan.config);
    if (more == 0) continue;
    const sim::Hardware& hardware = job.hardware_of(plan.config);
    const std::int64_t whole = step_ns(plan.config, hardware);
    EXPECT_NEAR(double(extrapolated(plan.config, nearly_step_ns(with_microbatches(plan.config, fewer), hardware),
                                    nearly_step_ns(with_microbatches(plan.config, more), hardware))),
                double(whole), 0.015 * double(whole))
        << text_of(layout);
  }
}

// Slices of the step that settles are left out, and those that reach into the window are not.
TEST(StepTimes, ExposureIsThatOfTheWholeTrace) {
  const TuneJob job(request_of("tensor_model_parallel_size: 2, sequence_parallel: true", kDataSpace, 8));
  for (const char* const stages : {"1", "4"}) {
    plan::Config config = job.plan({{"model.pipeline_model_parallel_size", stages}}).config;
    config.run.trace = true;
    const auto data = model::TextData::unread(config.model.seq_length);
    const auto time = sim::make_time_model(config);
    const Trace trace = Simulation(config, data, *time).play(0, 2);
    analysis::Split all;
    const auto splits = analysis::split_windows(trace, analysis::find_windows(trace).windows);
    for (const analysis::Split& split : splits) all += split;
    std::map<std::string, std::int64_t> exposed_ns;
    for (const auto& [modes, ns] : all.exposed_ns_by_modes)
      exposed_ns[modes] = ns / static_cast<std::int64_t>(splits.size());
    const StepExposure exposure = step_exposure(config, job.hardware_of(config));
    EXPECT_EQ(exposure.exposed_ns, exposed_ns) << stages;
    EXPECT_EQ(exposure.comm_ns, all.comm_ns() / static_cast<std::int64_t>(splits.size()));
    EXPECT_EQ(exposure.step_ns, step_ns(config, job.hardware_of(config)));
  }
}

TEST(StepTimes, OneContextParallelRankNearlyStandsForAll) {
  for (const char* const type : {"p2p", "all_gather", "a2a"}) {
    TuneRequest request = request_of(fmt::format("tensor_model_parallel_size: 2, sequence_parallel: true, "
                                                 "pipeline_model_parallel_size: 1, cp_comm_type: {}",
                                                 type),
                                     kDataSpace);
    for (const char* const wide : {"2", "4"}) {
      request.model.overrides = {{"model.context_parallel_size", wide}, {"model.seq_length", "8192"}};
      const TuneJob job(request);
      const plan::Plan plan = job.plan({});
      ASSERT_TRUE(plan.errors.empty()) << plan.errors.front().message;
      const sim::Hardware& hardware = job.hardware_of(plan.config);
      const std::int64_t whole = step_ns(plan.config, hardware);
      EXPECT_NEAR(double(nearly_step_ns(plan.config, hardware)), double(whole), 0.01 * double(whole))
          << type << ' ' << wide;
    }
  }
}

TEST(StepTimes, NoOverlapBeatsTheLeastStep) {
  const TuneJob job(request_of("deterministic_mode: false", kPipelineSpace, 8));
  std::size_t num = 0;
  for (const Choices& layout : layouts_of(job)) {
    const plan::Plan plan = job.plan(layout);
    if (!plan.errors.empty() || ++num > 24) continue;
    const sim::Hardware& hardware = job.hardware_of(plan.config);
    EXPECT_LE(LeastSteps(plan.config, hardware)
                  .ns(plan.config.train.num_microbatches, plan.config.parallel.virtual_pipeline_model_parallel_size),
              step_ns(plan.config, hardware))
        << text_of(layout);
  }
}

// Stages of 3, 4, 4 and 3 layers, whose chunks have other numbers.
TEST(StepTimes, ChunksOfUnevenStagesShareTheLeastStep) {
  const TuneJob job(request_for(
      "model: {preset: llama3-8b, num_layers: 14, seq_length: 2048, vocab_size: 32000, tensor_model_parallel_size: 2, "
      "account_for_embedding_in_pipeline_split: true, account_for_loss_in_pipeline_split: true}\n"
      "run: {hardware: h100-sxm}\n",
      8, 32));
  const auto least = [&](const Choices& choices) {
    const plan::Plan plan = job.plan(choices);
    EXPECT_THAT(plan.errors, IsEmpty());
    return LeastSteps(plan.config, job.hardware_of(plan.config)).ns(16, 1);
  };
  const char* const stages = "model.pipeline_model_parallel_size";
  EXPECT_EQ(least({{stages, "4"}}), least({{stages, "4"}, {"model.virtual_pipeline_model_parallel_size", "2"}}));
}

// One set of durations serves all of them, whatever their rules choose of overlap.
TEST(StepTimes, LayoutsThatDifferInVirtualStagesAndOverlapShareTheLeastStep) {
  const TuneJob job(request_of("tensor_model_parallel_size: 2, pipeline_model_parallel_size: 2", ""));
  const auto least = [&](const Choices& choices) {
    const plan::Config config = job.plan(choices).config;
    return LeastSteps(config, job.hardware_of(config)).ns(16, 2);
  };
  const std::int64_t plain = least({});
  for (const Choices& other :
       {Choices{{"model.virtual_pipeline_model_parallel_size", "2"}}, Choices{{"comm_overlap.bucket_size", "10000000"}},
        Choices{{"ddp.average_in_collective", "true"}}})
    EXPECT_EQ(least(other), plain) << text_of(other);
}

}  // namespace
}  // namespace underlap::bench
