// SPDX-License-Identifier: Apache-2.0
// The checker on recorded steps of every technique: each is well; without any one of its waits, or with any one of its
// ranges a little smaller, it is not, and the finding names the place.
#include <iterator>
#include <regex>
#include <tuple>

#include "impl/plan/config.hpp"
#include "impl/step/record_programs.hpp"
#include "tests/impl/damage.hpp"
#include "tests/impl/step/asked_schedules.hpp"
#include "tests/impl/step/tensor_overlaps.hpp"

namespace underlap {
namespace {

const plan::MixedPrecisionConfig kInnerLayersInFp8{.recipe = "bf16_with_fp8_current_scaling_mixed",
                                                   .fp8_param_gather = true};

using check::CheckReport;
using check::Finding;
using check::FindingKind;
using testing_support::is_ordered_by;
using testing_support::text_of;
using Type = ProgramCommand::Type;

using Set = std::function<void(plan::Config&)>;

/// A technique: all that it sets, one after the other.
struct StepCase {
  std::string name;
  std::vector<Set> sets;
};

plan::Config config_of(const StepCase& one) {
  plan::Config config = testing_support::small_config(2);
  config.ddp.bucket_size = 8000;
  for (const Set& set : one.sets) set(config);
  return config;
}

void reduce(plan::Config& c) { c.ddp.overlap_grad_reduce = true; }
void gather(plan::Config& c) { c.ddp.overlap_param_gather = true; }
void both(plan::Config& c) { c.ddp.overlap_grad_reduce = c.ddp.overlap_param_gather = true; }
void average(plan::Config& c) { c.ddp.average_in_collective = true; }
void accumulate_in_fp32(plan::Config& c) { c.ddp.reduce_scatter_with_fp32_accumulation = true; }
void unshard_optimizer(plan::Config& c) { c.ddp.use_distributed_optimizer = false; }
void separate_gathers(plan::Config& c) { c.extensions.separate_gather_communicator = true; }
void tie(plan::Config& c) { c.model.share_embeddings_and_output_weights = true; }
void defer_wgrads(plan::Config& c) { c.pipeline.defer_embedding_wgrad_compute = true; }
void split_context(plan::Config& c) { c.parallel.context_parallel_size = 2; }
void keep_sequence_whole(plan::Config& c) { c.parallel.sequence_parallel = false; }
void share_groups(plan::Config& c) { c.model.num_query_groups = 2; }

void instantiate(plan::Config& c) {
  c.parallel.data_parallel_size = 4;
  c.ddp.num_distributed_optimizer_instances = 2;
}

void stage(plan::Config& c) {
  c.model.num_layers = 2;
  c.train.num_microbatches = 2;
  c.parallel.pipeline_model_parallel_size = 2;
}

// As the plan decides where virtual stages overlap.
void interleave(plan::Config& c) {
  c.model.num_layers = 4;
  c.train.num_microbatches = 4;
  c.parallel.pipeline_model_parallel_size = 2;
  c.parallel.virtual_pipeline_model_parallel_size = 2;
  c.pipeline.overlap_p2p_comm = true;
  c.pipeline.batch_p2p_comm = false;
  c.pipeline.microbatch_group_size_per_vp_stage = 2;
  c.ddp.overlap_grad_reduce = c.ddp.overlap_param_gather = c.ddp.align_param_gather = true;
}

Set cut(std::int32_t ranks) {
  return [ranks](plan::Config& c) { testing_support::cut_layers(c, ranks); };
}
Set layers(std::int32_t count) {
  return [count](plan::Config& c) { c.model.num_layers = count; };
}
Set prefetch(std::int32_t depth) {
  return [depth](plan::Config& c) { c.extensions.param_gather_prefetch = depth; };
}
Set recompute(plan::RecomputeMethod method, std::int32_t num_layers) {
  return [=](plan::Config& c) { c.recompute = {method, num_layers}; };
}
Set overlap_as(const testing_support::TensorOverlapCase& one) {
  return [one](plan::Config& c) {
    c.parallel.sequence_parallel = one.sequence_parallel;
    c.tensor_overlap = one.overlap;
  };
}
void multiply_inner_layers_in_fp8(plan::Config& c) { c.mixed_precision = kInnerLayersInFp8; }
void use_userbuffers(plan::Config& c) {
  c.tensor_overlap = testing_support::userbuffers([](plan::TensorOverlap&) {});
}

std::vector<StepCase> tensor_cases() {
  std::vector<StepCase> cases;
  for (const testing_support::TensorOverlapCase& one : testing_support::all_tensor_overlap_cases())
    cases.push_back({"tensor_" + one.name, {cut(4), layers(2), overlap_as(one)}});
  return cases;
}

// Around a layer that multiplies in fp8: collectives as NCCL runs them, rings of both kinds, bulk collectives and
// reductions in fp8. What reduces bf16 is as above.
std::vector<StepCase> fp8_tensor_cases() {
  std::vector<testing_support::TensorOverlapCase> overlaps = testing_support::fp8_overlap_cases();
  for (testing_support::TensorOverlapCase& one : testing_support::all_tensor_overlap_cases())
    if (one.name == "nccl" || one.name == "aggregate" || one.name == "whole_nccl") overlaps.push_back(std::move(one));
  std::vector<StepCase> cases;
  for (const testing_support::TensorOverlapCase& one : overlaps)
    cases.push_back({"fp8_tensor_" + one.name, {cut(4), testing_support::multiply_in_fp8, overlap_as(one)}});
  return cases;
}

std::vector<StepCase> data_cases() {
  return {{"NothingOverlapped", {}},
          {"OverlappedReduce", {reduce}},
          {"OverlappedAverage", {both, average}},
          {"PrefetchedGather", {gather}},
          {"Both", {both}},
          {"GatherOnDemand", {both, prefetch(0)}},
          {"GatherTwoAhead", {both, prefetch(2)}},
          {"Fp32Accumulation", {accumulate_in_fp32}},
          {"OverlappedFp32Accumulation", {both, accumulate_in_fp32, average}},
          {"NoDistributedOptimizer", {reduce, unshard_optimizer}},
          {"AllReduceAfterBackward", {unshard_optimizer}},
          {"Instances", {both, instantiate}},
          {"InstancesWithoutOverlap", {instantiate, separate_gathers}},
          {"TwoCommunicators", {both, separate_gathers}},
          {"TwoCommunicatorsWithoutOverlap", {separate_gathers}},
          {"Fp8Gather", {both, layers(3), multiply_inner_layers_in_fp8}},  // one inner layer
          {"BiasesAndLayerNorm", {testing_support::with_biases_and_layer_norm}},
          {"TiedEmbedding", {both, tie}}};
}

std::vector<StepCase> pipeline_cases() {
  const Set gather_beside_optimizer = [](plan::Config& c) {
    c.optimizer.overlap_param_gather_with_optimizer_step = true;
  };
  const Set defer_one = [](plan::Config& c) {
    c.ddp.align_grad_reduce = false;    // the last gradient sends its bucket,
    c.pipeline.batch_p2p_sync = false;  // and no host waits between that and what comes after it
    c.pipeline.wgrad_deferral_limit = 1;
  };
  const Set four_heads = [](plan::Config& c) {
    c.model.num_attention_heads = 4;  // of 16, so that a rank's columns of qkv are a multiple of 16
  };
  const Set exchange_in_parts = [](plan::Config& c) { c.extensions.scatter_gather_tensors_in_pipeline = true; };
  return {{"PlainPipeline", {stage, both}},
          {"VirtualStages", {interleave}},
          {"TiedVirtualStages", {interleave, tie, gather_beside_optimizer}},
          {"Fp32AccumulationOfVirtualStages", {interleave, accumulate_in_fp32}},
          {"TiedStagesWithoutDistributedOptimizer", {stage, reduce, tie, unshard_optimizer}},
          {"Fp8GatherOfVirtualStages", {interleave, multiply_inner_layers_in_fp8}},  // the two inner ones of four
          {"DeferredWgrads", {stage, reduce, defer_wgrads, defer_one}},
          {"DeferredTiedWgrads", {interleave, tie, defer_wgrads}},
          {"DeferredTensorWgrads", {cut(2), stage, reduce, defer_wgrads}},
          {"SharedGroups", {cut(4), share_groups}},
          {"SharedGroupsInFp8", {cut(4), testing_support::multiply_in_fp8, four_heads, share_groups}},
          {"DeferredWholeTensorWgrads", {cut(2), keep_sequence_whole, stage, reduce, defer_wgrads}},
          {"ActivationsInParts", {interleave, cut(2), keep_sequence_whole, exchange_in_parts}},
          {"ContextRing", {split_context, both}},
          {"RecomputedLayer", {recompute(plan::RecomputeMethod::uniform, 1), both}}};
}

// Every schedule that has to be asked for, alone and with each mode whose order it could disturb.
std::vector<StepCase> schedule_cases() {
  const Set hooks = [](plan::Config& c) {
    c.ddp.align_grad_reduce = false;
    c.pipeline.batch_p2p_sync = false;
  };
  const std::vector<StepCase> beside{{"", {}},
                                     {"_with_hooks", {hooks, tie}},
                                     {"_tensor", {cut(2)}},
                                     {"_whole_tensor", {cut(2), keep_sequence_whole}},
                                     {"_shared_groups", {cut(4), share_groups}},
                                     {"_context", {split_context}}};
  std::vector<StepCase> cases;
  for (const std::string& schedule : testing_support::asked_schedules())
    for (const StepCase& mode : beside) {
      const Set ask = [schedule](plan::Config& c) {
        c.extensions.pipeline_schedule = schedule;
        c.extensions.tp_async_collectives = false;
      };
      StepCase one{schedule + mode.name, {stage, both, ask}};
      one.sets.insert(one.sets.end(), mode.sets.begin(), mode.sets.end());
      cases.push_back(std::move(one));
    }
  return cases;
}

std::vector<StepCase> cases() {
  std::vector<StepCase> all = data_cases();
  for (StepCase& one : schedule_cases()) all.push_back(std::move(one));
  for (StepCase& one : pipeline_cases()) all.push_back(std::move(one));
  for (StepCase& one : tensor_cases()) all.push_back(std::move(one));
  return all;
}

// Each technique as it is, and with clipping and two microbatches.
class CheckedStep : public testing::TestWithParam<std::tuple<StepCase, bool>> {
 protected:
  CheckedStep() {
    StepCase technique = std::get<0>(GetParam());
    technique.sets.insert(technique.sets.begin(), layers(1));
    config_ = config_of(technique);
    if (std::get<1>(GetParam())) {
      config_.optimizer.clip_grad = 1;
      config_.train.num_microbatches = 2;
    }
    programs_ = record_programs(config_, 3);
  }

  // The last rank is the one that is damaged.
  std::int32_t last() const { return static_cast<std::int32_t>(programs_.size()) - 1; }
  Program& damaged() { return programs_.back(); }
  std::string text(const ProgramCommand& command) { return describe(damaged(), command); }

  plan::Config config_;
  std::vector<Program> programs_;
};

std::string name_of_case(const testing::TestParamInfo<std::tuple<StepCase, bool>>& info) {
  return std::get<0>(info.param).name + (std::get<1>(info.param) ? "Clipped" : "");
}
INSTANTIATE_TEST_SUITE_P(Techniques, CheckedStep, testing::Combine(testing::ValuesIn(cases()), testing::Bool()),
                         name_of_case);
INSTANTIATE_TEST_SUITE_P(Fp8Techniques, CheckedStep,
                         testing::Combine(testing::ValuesIn(fp8_tensor_cases()), testing::Values(true)), name_of_case);

TEST_P(CheckedStep, IsWell) { testing_support::expect_well(programs_); }

TEST_P(CheckedStep, IsWellWithoutItsPaces) {
  testing_support::drop_paces(programs_);
  testing_support::expect_well(programs_);
}

// Beside what runs again, as it is and without throttles.
class RecomputedStep : public testing::TestWithParam<StepCase> {};
INSTANTIATE_TEST_SUITE_P(
    Techniques, RecomputedStep,
    testing::Values(
        StepCase{"tensor", {cut(4), use_userbuffers, recompute(plan::RecomputeMethod::uniform, 2)}},
        StepCase{
            "fp8",
            {cut(4), testing_support::multiply_in_fp8, use_userbuffers, recompute(plan::RecomputeMethod::uniform, 2)}},
        StepCase{
            "context",
            {split_context,
             [](plan::Config& c) {
               c.model.num_query_groups = c.model.num_attention_heads;
               c.context.cp_comm_type = {plan::CpCommType::p2p, plan::CpCommType::a2a, plan::CpCommType::all_gather};
             },
             layers(3), recompute(plan::RecomputeMethod::uniform, 3)}},
        StepCase{"virtual_stages", {interleave, layers(8), recompute(plan::RecomputeMethod::uniform, 2)}},
        StepCase{"block", {interleave, layers(8), recompute(plan::RecomputeMethod::block, 1)}}),
    CaseName());

TEST_P(RecomputedStep, IsWell) {
  StepCase recomputed = GetParam();
  const Set two_microbatches = [](plan::Config& c) { c.train.num_microbatches = 2; };
  recomputed.sets.insert(recomputed.sets.begin(), {two_microbatches, both});
  std::vector<Program> programs = record_programs(config_of(recomputed), 2);
  testing_support::expect_well(programs);
  testing_support::drop_paces(programs);
  testing_support::expect_well(programs);
}

// What a wait stands between: its streams, what the one was given before it and what the other is given after it.
std::string place_of(const Program& program, std::uint32_t wait) {
  const ProgramCommand& command = program.commands[wait];
  const auto purpose = [&](auto begin, auto end, std::uint32_t stream) {
    const auto found = std::find_if(begin, end, [&](const ProgramCommand& c) {
      return c.is_on_stream() && c.stream == stream && c.type != Type::wait && c.type != Type::throttle;
    });
    const std::string name = found == end ? "nothing" : std::string(name_of(found->tag.purpose));
    return std::regex_replace(std::regex_replace(name, std::regex("^(qkv|fc1)"), "column"), std::regex("^(proj|fc2)"),
                              "row");
  };
  const auto here = program.commands.begin() + wait;
  return fmt::format("{} before {} of stream {}",
                     purpose(std::make_reverse_iterator(here), program.commands.rend(), command.awaited_stream),
                     purpose(here, program.commands.end(), command.stream), command.stream);
}

// Each wait of data parallelism is needed in every place. Tensor-parallel techniques do not know the waits of
// neighboring slots, so each of their waits is needed in at least one place. A gather during dgrad reads an input of
// the forward pass, and the layer above no longer uses its buffer: this wait only keeps the order.
TEST_P(CheckedStep, NeedsEachOfItsWaits) {
  // With several modes, one's order may be kept by another's, and by a host that waits behind a batched exchange; what
  // each needs by itself is tested beside it.
  const bool is_composed = config_.parallel.pipeline_model_parallel_size * config_.parallel.context_parallel_size > 1;
  const bool is_tensor_parallel = config_.parallel.tensor_model_parallel_size > 1;
  // The all-reduce over optimizer instances waits for what computes gradients by way of their reduce-scatter.
  const bool has_instances = config_.ddp.num_distributed_optimizer_instances > 1;
  std::map<std::string, bool> is_needed;
  for (std::uint32_t i = 0; i < damaged().commands.size(); ++i) {
    ProgramCommand& wait = damaged().commands[i];
    if (wait.type != Type::wait) continue;
    const std::string place =
        config_.parallel.tensor_model_parallel_size > 1 ? place_of(damaged(), i) : fmt::format("{} {}", i, text(wait));
    if (is_needed[place]) continue;
    const std::uint64_t position = std::exchange(wait.awaited_position, 0);
    const ProgramIndex index(damaged());
    const CheckReport report = check::check_programs(programs_, {.connections = {}});
    bool is_ordered = false;
    for (const Finding& finding : report.findings) {
      if (finding.kind != FindingKind::race) continue;
      is_needed[place] = true;
      const bool is_its_own = is_ordered_by(index, last(), i, position, finding);
      is_ordered = is_ordered || is_its_own;
      // What several streams of a technique wait for reaches them by way of one another.
      EXPECT_TRUE(is_tensor_parallel || is_composed || has_instances || is_its_own)
          << "command " << i << ", " << text(wait) << text_of(report);
    }
    EXPECT_TRUE(is_tensor_parallel || is_composed || is_ordered || !is_needed[place])
        << "command " << i << ", " << text(wait) << text_of(report);
    wait.awaited_position = position;
  }
  std::size_t num_needed = 0;
  for (const auto& [place, needed] : is_needed) {
    num_needed += needed;
    EXPECT_TRUE(needed || is_composed || place.find("dgrad_all_gather of") != std::string::npos)
        << "the wait of " << place << " is redundant";
  }
  EXPECT_GT(2 * num_needed, is_needed.size());
}

// Whether anything reads `view` after command `c` and before it is written again.
bool is_read_later(const Program& program, std::uint32_t c, const View& view) {
  for (std::uint32_t later = c + 1; later < program.commands.size(); ++later) {
    const auto accesses = check::accesses_of(program, program.commands[later]);
    const auto meets = [&](bool reads) {
      return std::any_of(accesses.begin(), accesses.end(), [&](const check::MemoryAccess& access) {
        return (reads ? access.reads : access.writes) && overlap(access.view, view);
      });
    };
    if (meets(true)) return true;
    if (meets(false)) return false;
  }
  return false;
}

TEST_P(CheckedStep, NeedsAllOfEachRange) {
  const bool is_tensor_parallel = config_.parallel.tensor_model_parallel_size > 1;
  auto ranges = testing_support::ranges_of(damaged(), [&](const ProgramCommand& command) {
    // Of the many more operations that tensor parallelism makes, those of one layer and microbatch.
    if (is_tensor_parallel && (command.tag.step == 0 || command.tag.layer != 1 || command.tag.microbatch > 0))
      return false;
    return command.tag.step != 1;  // it is as step 2
  });
  // What a rank reads before the first step is not held against the other ranks.
  std::erase_if(ranges, [&](const testing_support::Range& range) {
    const ProgramCommand& command = damaged().commands[range.second];
    if (command.tag.step >= 0 || command.type == Type::communicate) return false;
    const auto use = std::find_if(damaged().all_uses.begin() + command.first, damaged().all_uses.end(),
                                  [&](const Use& u) { return &u.view == range.first; });
    return use->access != Access::out;
  });
  // Of initial weights a rank's own shards are read; the first gather writes the others before anybody reads them.
  testing_support::expect_all_needed(programs_, last(), ranges, [&](std::uint32_t c, const View& gone) {
    const ProgramCommand& command = damaged().commands[c];
    return command.tag.step < 0 && command.type == Type::launch && !is_read_later(damaged(), c, gone);
  });
}

}  // namespace
}  // namespace underlap
