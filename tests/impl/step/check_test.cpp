// SPDX-License-Identifier: Apache-2.0
// The checker on recorded steps of every technique: each is well; without any one of its waits, or with any one of its
// ranges a little smaller, it is not, and the finding names the place.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <regex>
#include <tuple>

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
using testing_support::is_named;
using testing_support::is_ordered_by;
using testing_support::shrink;
using testing_support::text_of;
using Type = ProgramCommand::Type;

struct StepCase {
  std::string name;
  std::function<void(plan::Config&)> set;
};

std::vector<StepCase> tensor_cases() {
  std::vector<StepCase> cases;
  for (const testing_support::TensorOverlapCase& one : testing_support::all_tensor_overlap_cases())
    cases.push_back({"tensor_" + one.name, [one](plan::Config& c) {
                       testing_support::cut_layers(c, 4);
                       c.parallel.sequence_parallel = one.sequence_parallel;
                       c.model.num_layers = 2;
                       c.tensor_overlap = one.overlap;
                     }});
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
    cases.push_back({"fp8_tensor_" + one.name, [one](plan::Config& c) {
                       testing_support::cut_layers(c, 4);
                       c.parallel.sequence_parallel = one.sequence_parallel;
                       testing_support::multiply_in_fp8(c);
                       c.tensor_overlap = one.overlap;
                     }});
  return cases;
}

std::vector<StepCase> data_cases() {
  return {{"NothingOverlapped", [](plan::Config&) {}},
          {"OverlappedReduce", [](plan::Config& c) { c.ddp.overlap_grad_reduce = true; }},
          {"OverlappedAverage",
           [](plan::Config& c) {
             c.ddp.overlap_grad_reduce = c.ddp.overlap_param_gather = true;
             c.ddp.average_in_collective = true;
           }},
          {"PrefetchedGather", [](plan::Config& c) { c.ddp.overlap_param_gather = true; }},
          {"Both", [](plan::Config& c) { c.ddp.overlap_grad_reduce = c.ddp.overlap_param_gather = true; }},
          {"GatherOnDemand",
           [](plan::Config& c) {
             c.ddp.overlap_grad_reduce = c.ddp.overlap_param_gather = true;
             c.extensions.param_gather_prefetch = 0;
           }},
          {"GatherTwoAhead",
           [](plan::Config& c) {
             c.ddp.overlap_grad_reduce = c.ddp.overlap_param_gather = true;
             c.extensions.param_gather_prefetch = 2;
           }},
          {"Fp32Accumulation", [](plan::Config& c) { c.ddp.reduce_scatter_with_fp32_accumulation = true; }},
          {"OverlappedFp32Accumulation",
           [](plan::Config& c) {
             c.ddp.overlap_grad_reduce = c.ddp.overlap_param_gather = true;
             c.ddp.reduce_scatter_with_fp32_accumulation = true;
             c.ddp.average_in_collective = true;
           }},
          {"NoDistributedOptimizer",
           [](plan::Config& c) {
             c.ddp.use_distributed_optimizer = false;
             c.ddp.overlap_grad_reduce = true;
           }},
          {"AllReduceAfterBackward", [](plan::Config& c) { c.ddp.use_distributed_optimizer = false; }},
          {"Instances",
           [](plan::Config& c) {
             c.parallel.data_parallel_size = 4;
             c.ddp.num_distributed_optimizer_instances = 2;
             c.ddp.overlap_grad_reduce = c.ddp.overlap_param_gather = true;
           }},
          {"InstancesWithoutOverlap",
           [](plan::Config& c) {
             c.parallel.data_parallel_size = 4;
             c.ddp.num_distributed_optimizer_instances = 2;
             c.extensions.separate_gather_communicator = true;
           }},
          {"TwoCommunicators",
           [](plan::Config& c) {
             c.ddp.overlap_grad_reduce = c.ddp.overlap_param_gather = true;
             c.extensions.separate_gather_communicator = true;
           }},
          {"TwoCommunicatorsWithoutOverlap", [](plan::Config& c) { c.extensions.separate_gather_communicator = true; }},
          {"Fp8Gather",
           [](plan::Config& c) {
             c.ddp.overlap_grad_reduce = c.ddp.overlap_param_gather = true;
             c.model.num_layers = 3;  // the inner one is fp8
             c.mixed_precision = kInnerLayersInFp8;
           }},
          {"BiasesAndLayerNorm", testing_support::with_biases_and_layer_norm},
          {"TiedEmbedding", [](plan::Config& c) {
             c.ddp.overlap_grad_reduce = c.ddp.overlap_param_gather = true;
             c.model.share_embeddings_and_output_weights = true;
           }}};
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

std::vector<StepCase> pipeline_cases() {
  return {{"PlainPipeline",
           [](plan::Config& c) {
             c.model.num_layers = 2;
             c.train.num_microbatches = 2;
             c.parallel.pipeline_model_parallel_size = 2;
             c.ddp.overlap_grad_reduce = c.ddp.overlap_param_gather = true;
           }},
          {"VirtualStages", interleave},
          {"TiedVirtualStages",
           [](plan::Config& c) {
             interleave(c);
             c.model.share_embeddings_and_output_weights = true;
             c.optimizer.overlap_param_gather_with_optimizer_step = true;
           }},
          {"Fp32AccumulationOfVirtualStages",
           [](plan::Config& c) {
             interleave(c);
             c.ddp.reduce_scatter_with_fp32_accumulation = true;
           }},
          {"TiedStagesWithoutDistributedOptimizer",
           [](plan::Config& c) {
             c.model.num_layers = 2;
             c.train.num_microbatches = 2;
             c.parallel.pipeline_model_parallel_size = 2;
             c.model.share_embeddings_and_output_weights = true;
             c.ddp.use_distributed_optimizer = false;
             c.ddp.overlap_grad_reduce = true;
           }},
          {"Fp8GatherOfVirtualStages",
           [](plan::Config& c) {
             interleave(c);  // of the four layers the two inner ones are fp8
             c.mixed_precision = kInnerLayersInFp8;
           }},
          {"DeferredWgrads",
           [](plan::Config& c) {
             c.model.num_layers = 2;
             c.train.num_microbatches = 2;
             c.parallel.pipeline_model_parallel_size = 2;
             c.ddp.overlap_grad_reduce = true;
             c.ddp.align_grad_reduce = false;    // the last gradient sends its bucket,
             c.pipeline.batch_p2p_sync = false;  // and no host waits between that and what comes after it
             c.pipeline.defer_embedding_wgrad_compute = true;
             c.pipeline.wgrad_deferral_limit = 1;
           }},
          {"DeferredTiedWgrads",
           [](plan::Config& c) {
             interleave(c);
             c.model.share_embeddings_and_output_weights = true;
             c.pipeline.defer_embedding_wgrad_compute = true;
           }},
          {"DeferredTensorWgrads",
           [](plan::Config& c) {
             testing_support::cut_layers(c, 2);
             c.model.num_layers = 2;
             c.train.num_microbatches = 2;
             c.parallel.pipeline_model_parallel_size = 2;
             c.ddp.overlap_grad_reduce = true;
             c.pipeline.defer_embedding_wgrad_compute = true;
           }},
          {"SharedGroups",
           [](plan::Config& c) {
             testing_support::cut_layers(c, 4);
             c.model.num_query_groups = 2;
           }},
          {"SharedGroupsInFp8",
           [](plan::Config& c) {
             testing_support::cut_layers(c, 4);
             testing_support::multiply_in_fp8(c);
             c.model.num_attention_heads = 4;  // of 16, so that a rank's columns of qkv are a multiple of 16
             c.model.num_query_groups = 2;
           }},
          {"DeferredWholeTensorWgrads",
           [](plan::Config& c) {
             testing_support::cut_layers(c, 2);
             c.parallel.sequence_parallel = false;
             c.model.num_layers = 2;
             c.train.num_microbatches = 2;
             c.parallel.pipeline_model_parallel_size = 2;
             c.ddp.overlap_grad_reduce = true;
             c.pipeline.defer_embedding_wgrad_compute = true;
           }},
          {"ActivationsInParts",
           [](plan::Config& c) {
             interleave(c);
             testing_support::cut_layers(c, 2);
             c.parallel.sequence_parallel = false;
             c.extensions.scatter_gather_tensors_in_pipeline = true;
           }},
          {"ContextRing",
           [](plan::Config& c) {
             c.parallel.context_parallel_size = 2;
             c.ddp.overlap_grad_reduce = c.ddp.overlap_param_gather = true;
           }},
          {"RecomputedLayer", [](plan::Config& c) {
             c.recompute = {plan::RecomputeMethod::uniform, 1};
             c.ddp.overlap_grad_reduce = c.ddp.overlap_param_gather = true;
           }}};
}

// Every schedule that has to be asked for, alone and with each mode whose order it could disturb.
std::vector<StepCase> schedule_cases() {
  const std::vector<StepCase> beside{{"", [](plan::Config&) {}},
                                     {"_with_hooks",
                                      [](plan::Config& c) {
                                        c.ddp.align_grad_reduce = false;
                                        c.pipeline.batch_p2p_sync = false;
                                        c.model.share_embeddings_and_output_weights = true;
                                      }},
                                     {"_tensor", [](plan::Config& c) { testing_support::cut_layers(c, 2); }},
                                     {"_whole_tensor",
                                      [](plan::Config& c) {
                                        testing_support::cut_layers(c, 2);
                                        c.parallel.sequence_parallel = false;
                                      }},
                                     {"_shared_groups",
                                      [](plan::Config& c) {
                                        testing_support::cut_layers(c, 4);
                                        c.model.num_query_groups = 2;
                                      }},
                                     {"_context", [](plan::Config& c) { c.parallel.context_parallel_size = 2; }}};
  std::vector<StepCase> cases;
  for (const std::string& schedule : testing_support::asked_schedules())
    for (const StepCase& mode : beside)
      cases.push_back({schedule + mode.name, [schedule, set = mode.set](plan::Config& c) {
                         c.model.num_layers = 2;
                         c.train.num_microbatches = 2;
                         c.parallel.pipeline_model_parallel_size = 2;
                         c.ddp.overlap_grad_reduce = c.ddp.overlap_param_gather = true;
                         c.extensions.pipeline_schedule = schedule;
                         c.extensions.tp_async_collectives = false;
                         set(c);
                       }});
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
    config_ = testing_support::small_config(2);
    config_.model.num_layers = 1;
    config_.ddp.bucket_size = 8000;
    std::get<0>(GetParam()).set(config_);
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

TEST_P(CheckedStep, IsWell) {
  const CheckReport report = check::check_programs(programs_);
  EXPECT_TRUE(report.findings.empty()) << text_of(report);
}

TEST_P(CheckedStep, IsWellWithoutItsPaces) {
  for (Program& program : programs_)
    for (ProgramCommand& command : program.commands)
      if (command.type == Type::throttle) command.awaited_position = 0;
  const CheckReport report = check::check_programs(programs_);
  EXPECT_TRUE(report.findings.empty()) << text_of(report);
}

// Beside what runs again, as it is and without throttles.
class RecomputedStep : public testing::TestWithParam<StepCase> {};
INSTANTIATE_TEST_SUITE_P(
    Techniques, RecomputedStep,
    testing::Values(
        StepCase{"tensor",
                 [](plan::Config& c) {
                   testing_support::cut_layers(c, 4);
                   c.tensor_overlap = testing_support::userbuffers([](plan::TensorOverlap&) {});
                   c.recompute = {plan::RecomputeMethod::uniform, 2};
                 }},
        StepCase{"fp8",
                 [](plan::Config& c) {
                   testing_support::cut_layers(c, 4);
                   testing_support::multiply_in_fp8(c);
                   c.tensor_overlap = testing_support::userbuffers([](plan::TensorOverlap&) {});
                   c.recompute = {plan::RecomputeMethod::uniform, 2};
                 }},
        StepCase{
            "context",
            [](plan::Config& c) {
              c.parallel.context_parallel_size = 2;
              c.model.num_query_groups = c.model.num_attention_heads;
              c.context.cp_comm_type = {plan::CpCommType::p2p, plan::CpCommType::a2a, plan::CpCommType::all_gather};
              c.model.num_layers = 3;
              c.recompute = {plan::RecomputeMethod::uniform, 3};
            }},
        StepCase{"virtual_stages",
                 [](plan::Config& c) {
                   interleave(c);
                   c.model.num_layers = 8;
                   c.recompute = {plan::RecomputeMethod::uniform, 2};
                 }},
        StepCase{"block",
                 [](plan::Config& c) {
                   interleave(c);
                   c.model.num_layers = 8;
                   c.recompute = {plan::RecomputeMethod::block, 1};
                 }}),
    [](const auto& parameter) { return parameter.param.name; });

TEST_P(RecomputedStep, IsWell) {
  plan::Config config = testing_support::small_config(2);
  config.train.num_microbatches = 2;
  config.ddp.bucket_size = 8000;
  config.ddp.overlap_grad_reduce = config.ddp.overlap_param_gather = true;
  GetParam().set(config);
  std::vector<Program> programs = record_programs(config, 2);
  EXPECT_THAT(check::check_programs(programs).findings, testing::IsEmpty());
  for (Program& program : programs)
    for (ProgramCommand& command : program.commands)
      if (command.type == Type::throttle) command.awaited_position = 0;
  const CheckReport report = check::check_programs(programs);
  EXPECT_TRUE(report.findings.empty()) << text_of(report);
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

// Every wait of data parallelism is needed wherever it stands. Tensor-parallel techniques do not know what their slot's
// neighbours wait for already: theirs is needed somewhere. A gather beside dgrad is of an input that was there since
// the forward pass, and the layer above has long left its buffer: what it waits for is its turn.
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
    const check::ProgramIndex index(damaged());
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
  std::vector<std::pair<View*, std::uint32_t>> views;
  for (std::uint32_t c = 0; c < damaged().commands.size(); ++c) {
    const ProgramCommand& command = damaged().commands[c];
    if (command.tag.step == 1) continue;          // it is as step 2
    const bool is_before = command.tag.step < 0;  // what a rank reads there is not held against the other ranks
    // Of many more operations, those that tensor parallelism makes, once.
    const bool is_tensor_parallel = config_.parallel.tensor_model_parallel_size > 1;
    if (is_tensor_parallel && (command.tag.step == 0 || command.tag.layer != 1 || command.tag.microbatch > 0)) continue;
    for (std::uint32_t i = command.first; i < command.first + command.count; ++i) {
      if (command.type != Type::communicate) {
        if (!is_before || damaged().all_uses[i].access == Access::out)
          views.emplace_back(&damaged().all_uses[i].view, c);
        continue;
      }
      views.emplace_back(&damaged().all_transfers[i].input, c);
      views.emplace_back(&damaged().all_transfers[i].output, c);
    }
  }
  for (const auto& [view, c] : views) {
    const View whole = *view;
    const View gone = shrink(*view);
    const ProgramCommand& command = damaged().commands[c];
    const CheckReport report = check::check_programs(programs_, {.connections = {}});
    // Of initial weights a rank's own shards are read; the first gather writes the others before anybody reads them.
    const bool is_seen_by_nobody =
        command.tag.step < 0 && command.type == Type::launch && !is_read_later(damaged(), c, gone);
    EXPECT_NE(is_named(report, {last(), c}), is_seen_by_nobody)
        << text(command) << " lacks " << check::text_of(damaged(), gone) << "\n"
        << text_of(report);
    *view = whole;
  }
}

}  // namespace
}  // namespace underlap
