// SPDX-License-Identifier: Apache-2.0
// Recomputed layers: what runs again, what it costs, and what is not kept any more.
#include "impl/device/makespan.hpp"
#include "impl/step/record_programs.hpp"
#include "tests/impl/plan/plan_testing.hpp"
#include "tests/impl/step/step_times.hpp"
#include "tests/impl/step/tensor_overlaps.hpp"

namespace underlap {
namespace {

using plan::RecomputeMethod;
using testing_support::small_config;
using Type = ProgramCommand::Type;

constexpr plan::RecomputeConfig kEachLayer{RecomputeMethod::uniform, 1};

plan::Config recomputing(plan::Config config, plan::RecomputeConfig recompute) {
  config.recompute = recompute;
  return config;
}

// What a layer is given in the last microbatch, transfers included, in the order of the program.
std::vector<std::string> work_of_layer(const Program& program, std::int32_t layer, Direction direction,
                                       std::int32_t microbatch) {
  std::vector<std::string> work;
  for (const ProgramCommand& c : program.commands)
    if ((c.type == Type::launch || c.type == Type::communicate) && c.tag.mode != Mode::dp && c.tag.layer == layer &&
        c.tag.microbatch == microbatch && c.tag.direction == direction)
      work.emplace_back(name_of(c.tag.purpose));
  return work;
}

struct Work {
  std::vector<std::string> forward, backward;
};
Work last_work(const plan::Config& config, std::int32_t layer) {
  const Program program = record_programs(config, 1).front();
  const auto microbatch = static_cast<std::int32_t>(config.train.num_microbatches) - 1;
  return {work_of_layer(program, layer, Direction::forward, microbatch),
          work_of_layer(program, layer, Direction::backward, microbatch)};
}

struct WorkCase {
  const char* name;
  plan::Config config;
};
void PrintTo(const WorkCase& c, std::ostream* out) { *out << c.name; }

std::vector<WorkCase> work_cases() {
  plan::Config tensor = testing_support::small_tensor_config(2, 1);
  tensor.train.num_microbatches = 2;
  tensor.tensor_overlap = testing_support::userbuffers([](plan::TensorOverlap&) {});
  plan::Config fp8 = testing_support::small_tensor_config(2, 1);
  testing_support::multiply_in_fp8(fp8);
  fp8.train.num_microbatches = 2;
  plan::Config context = small_config(1);
  context.parallel.context_parallel_size = 2;
  return {{"alone", small_config(1)}, {"tensor", tensor}, {"fp8", fp8}, {"context", context}};
}

class RecomputedLayer : public testing::TestWithParam<WorkCase> {};
INSTANTIATE_TEST_SUITE_P(Techniques, RecomputedLayer, testing::ValuesIn(work_cases()), CaseName());

TEST_P(RecomputedLayer, RunsItsForwardPassAgainTransfersIncluded) {
  const Work kept = last_work(GetParam().config, 1);
  const Work again = last_work(recomputing(GetParam().config, kEachLayer), 1);
  ASSERT_GT(kept.forward.size(), 8U);
  EXPECT_EQ(again.forward, kept.forward);
  std::vector<std::string> both = kept.forward;
  both.insert(both.end(), kept.backward.begin(), kept.backward.end());
  EXPECT_EQ(again.backward, both);
}

TEST(Recompute, ABlockRecomputesItsFirstLayersAlone) {
  plan::Config config = small_config(1);
  const Work first = last_work(config, 0), second = last_work(config, 1);
  config.recompute = {RecomputeMethod::block, 1};
  EXPECT_EQ(last_work(config, 0).backward.size(), first.forward.size() + first.backward.size());
  EXPECT_EQ(last_work(config, 1).backward, second.backward);
}

// The layers whose passes follow each other in backward: F and B with their layer.
TEST(Recompute, AGroupRunsForwardBeforeItsFirstBackwardPass) {
  plan::Config config = small_config(1);
  config.model.num_layers = 5;
  config.recompute = {RecomputeMethod::uniform, 2};
  std::string order;
  const Program program = record_programs(config, 1).front();
  for (const ProgramCommand& c : program.commands) {
    if (c.tag.direction != Direction::backward || c.tag.layer < 0 || c.type != Type::launch) continue;
    const std::string_view purpose = name_of(c.tag.purpose);
    if (purpose == "fc1_fprop") order += "F" + std::to_string(c.tag.layer) + " ";
    if (purpose == "fc1_dgrad") order += "B" + std::to_string(c.tag.layer) + " ";
  }
  EXPECT_EQ(order, "F4 B4 F2 F3 B3 B2 F0 F1 B1 B0 ");
}

// Tags of what data parallelism sends, in order.
std::vector<std::string> sent_by_data_parallelism(const plan::Config& config) {
  std::vector<std::string> sent;
  const Program program = record_programs(config, 2).front();
  for (const ProgramCommand& c : program.commands)
    if (c.type == Type::communicate && c.tag.mode == Mode::dp) sent.push_back(describe(program, c));
  return sent;
}

TEST(Recompute, GathersAndReducesNothingTwice) {
  plan::Config config = small_config(2);
  config.ddp.overlap_grad_reduce = config.ddp.overlap_param_gather = true;
  config.ddp.bucket_size = 4000;
  const std::vector<std::string> sent = sent_by_data_parallelism(config);
  EXPECT_GT(sent.size(), 8U);
  EXPECT_EQ(sent_by_data_parallelism(recomputing(config, {RecomputeMethod::uniform, 2})), sent);
}

// Time of one step, and of the forward passes of its layers.
struct StepTime {
  std::int64_t step_ns = 0;
  std::int64_t layers_forward_ns = 0;
};
StepTime step_time(const plan::Config& config) {
  const Trace trace = testing_support::simulated_trace(config, 1);
  StepTime time;
  time.step_ns = trace.marks[1].time_ns - trace.marks[0].time_ns;
  for (std::size_t i = 0; i < trace.size(); ++i)
    if (trace.tag(i).step == 1 && trace.tag(i).direction == Direction::forward && trace.tag(i).layer >= 0)
      time.layers_forward_ns += trace.end_ns(i) - trace.start_ns()[i];
  return time;
}

TEST(Recompute, LengthensAStepByTheForwardPassOfItsLayers) {
  plan::Config config = small_config(1);
  config.model.num_layers = 5;
  config.train.num_microbatches = 3;
  const StepTime kept = step_time(config);
  ASSERT_GT(kept.layers_forward_ns, 0);
  for (const std::int32_t length : {1, 2, 5})
    EXPECT_EQ(step_time(recomputing(config, {RecomputeMethod::uniform, length})).step_ns,
              kept.step_ns + kept.layers_forward_ns)
        << "groups of " << length;
  EXPECT_EQ(step_time(recomputing(config, {RecomputeMethod::block, 2})).step_ns,
            kept.step_ns + kept.layers_forward_ns / 5 * 2);
}

TEST(Recompute, IsWorkThatBoundsCount) {
  const auto bounds = [](const plan::Config& config) {
    const Program program = record_step(config);
    return step_bounds({&program, 1}, [&program](std::size_t, const ProgramCommand& c) {
      const std::int64_t ns = c.bytes + program.cost(c).bytes_read + program.cost(c).bytes_written;
      return CommandTime{.alone_ns = ns, .device_ns = ns};
    });
  };
  const plan::Config config = small_config(1);
  const StepBounds kept = bounds(config), again = bounds(recomputing(config, kEachLayer));
  const std::int64_t forward_ns = step_time(config).layers_forward_ns;
  EXPECT_EQ(again.ideal_ns, kept.ideal_ns + forward_ns);
  EXPECT_EQ(again.schedule_ns, kept.schedule_ns + forward_ns);
}

// Memory --------------------------------------------------------------------------------------------------------------

plan::Plan plan_of(const std::string& sizes, const std::string& more = "") {
  return plan::plan_of(
      "model: {num_layers: 8, hidden_size: 512, ffn_hidden_size: 96, num_attention_heads: 4, num_query_groups: 2, "
      "vocab_size: 256, seq_length: 32, sequence_parallel: true, " +
      sizes + "}\ntrain: {num_microbatches: 4}\n" + more);
}

// Bytes that the first rank allocates for what the layers keep; the statistics of norms and attention are too small to
// be predicted.
std::int64_t allocated(const plan::Config& config) {
  static constexpr std::array<std::string_view, 10> kKept{
      "activations", "normed_attention", "packed_qkv", "attended",          "middle",
      "normed_mlp",  "fc1_out",          "activated",  "recomputed_output", "fp8_input"};
  std::int64_t bytes = 0;
  const Program program = record_programs(config, 0).front();
  for (const ProgramTensor& tensor : program.tensors)
    if (std::ranges::count(kKept, tensor.name) > 0) bytes += size_of(tensor.dtype) * tensor.elements;
  return bytes;
}

TEST(Fp8Memory, HoldsInputsOfProductsOnceInBf16AsPredicted) {
  for (const char* sizes :
       {"", ", tensor_model_parallel_size: 2", ", context_parallel_size: 2", ", pipeline_model_parallel_size: 2"}) {
    const plan::Plan bf16 = plan_of(std::string("activation: swiglu") + sizes);
    const plan::Plan fp8 = plan_of(std::string("activation: swiglu") + sizes,
                                   "mixed_precision: {recipe: bf16_with_fp8_current_scaling_mixed}\n");
    EXPECT_EQ(allocated(bf16.config) - allocated(fp8.config),
              bf16.peak_memory.activations - fp8.peak_memory.activations)
        << sizes;
    EXPECT_GT(allocated(bf16.config), allocated(fp8.config)) << sizes;
  }
}

class RecomputeMemory : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Methods, RecomputeMemory,
                         testing::Values("method: uniform, recompute_num_layers: 1",
                                         "method: uniform, recompute_num_layers: 2",
                                         "method: uniform, recompute_num_layers: 3",
                                         "method: block, recompute_num_layers: 1",
                                         "method: block, recompute_num_layers: 3"));

TEST_P(RecomputeMemory, IsSavedAsPredicted) {
  for (const char* sizes : {"seq_length: 32", "tensor_model_parallel_size: 2", "context_parallel_size: 2",
                            "pipeline_model_parallel_size: 2"}) {
    const std::string of_rank = std::string(sizes) == "seq_length: 32" ? "" : std::string(", ") + sizes;
    const plan::Plan kept = plan_of("activation: swiglu" + of_rank);
    const plan::Plan again =
        plan_of("activation: swiglu" + of_rank + ", recompute_granularity: full, recompute_" + GetParam());
    EXPECT_EQ(allocated(kept.config) - allocated(again.config),
              kept.peak_memory.activations - again.peak_memory.activations)
        << sizes;
  }
}

TEST(RecomputeMemory, IsSharedByAllChunksOfARank) {
  const std::string sizes = "pipeline_model_parallel_size: 2, virtual_pipeline_model_parallel_size: 2, ";
  const plan::Config config =
      plan_of(sizes + "recompute_granularity: full, recompute_method: uniform, recompute_num_layers: 2").config;
  const Program program = record_programs(config, 0).front();
  const auto num = std::ranges::count(program.tensors, "packed_qkv", &ProgramTensor::name);
  EXPECT_EQ(num, 2) << "the layers of one group";
}

TEST(RecomputeMemory, HoldsFp8InputsOfOneGroup) {
  plan::Config config = small_config(1);
  testing_support::multiply_in_fp8(config);
  config.model.num_layers = 6;
  const auto num_inputs = [](const plan::Config& c) {
    const Program program = record_programs(c, 0).front();
    return std::ranges::count(program.tensors, "fp8_input", &ProgramTensor::name);
  };
  EXPECT_EQ(num_inputs(config), 4 * 4) << "of the layers between the first and the last";
  EXPECT_EQ(num_inputs(recomputing(config, {RecomputeMethod::uniform, 2})), 2 * 4);
}

}  // namespace
}  // namespace underlap
