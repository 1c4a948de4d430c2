// SPDX-License-Identifier: Apache-2.0
// What is proposed where a rank needs more memory than there is.
#include <initializer_list>
#include <regex>

#include "impl/plan/memory/advice.hpp"
#include "impl/plan/memory/memory.hpp"
#include "tests/impl/plan/plan_testing.hpp"

namespace underlap::plan {
namespace {

/// Settings of a cell: of the model, and those of other sections as whole lines.
struct Settings {
  std::string model, rest;
};
std::string yaml_of(const Settings& s) { return "model: {" + s.model + "}\n" + s.rest; }
Config config_of(const Settings& s) { return plan_of(yaml_of(s)).config; }
std::int64_t bytes_of(const Settings& s) { return predicted_memory(config_of(s)).total(); }

/// The value that stands behind `name` in `advice`.
std::optional<std::string> value_in(const std::string& advice, const std::string& name) {
  std::smatch found;
  if (!std::regex_search(advice, found, std::regex("\\b" + name + " (\\w+)"))) return std::nullopt;
  return found[1];
}

/// `yaml` with the settings that `advice` names.
Matrix heeded(const std::string& yaml, const std::string& advice) {
  std::vector<Override> overrides;
  const auto heed = [&](const std::string& section, std::initializer_list<const char*> names) {
    for (const char* name : names)
      if (const auto value = value_in(advice, name)) overrides.emplace_back(section + name, *value);
  };
  heed("model.", {"recompute_granularity", "recompute_method", "recompute_num_layers", "pipeline_model_parallel_size",
                  "virtual_pipeline_model_parallel_size", "tensor_model_parallel_size", "context_parallel_size",
                  "sequence_parallel"});
  heed("train.", {"micro_batch_size", "num_microbatches"});
  heed("ddp.", {"use_distributed_optimizer", "num_distributed_optimizer_instances"});
  heed("", {"data_parallel_size"});
  return parse(yaml, "f", overrides);
}

const Settings kEightRanks{"preset: llama3-8b", "data_parallel_size: 8\ntrain: {num_microbatches: 4}\n"};

/// The advice, after it was heeded: the plan has no error, as many ranks, as many samples, and fits.
std::string advice_of(const Settings& s, std::int64_t bytes) {
  const Config before = config_of(s);
  const std::string advice = advice_on_memory(before, bytes);
  const Matrix matrix = heeded(yaml_of(s), advice);
  EXPECT_THAT(error_lines(matrix), IsEmpty()) << advice;
  const Plan& plan = matrix.cells.front().plan;
  EXPECT_LE(plan.peak_memory.total(), bytes) << advice;
  EXPECT_EQ(plan.config.parallel.world_size(), before.parallel.world_size()) << advice;
  const auto samples = [](const Config& c) {
    return c.parallel.data_parallel_size * c.train.num_microbatches * c.train.micro_batch_size;
  };
  EXPECT_EQ(samples(plan.config), samples(before)) << advice;
  return advice;
}

TEST(MemoryAdvice, RecomputesAsFewLayersAsDo) {
  const Settings three{
      kEightRanks.model + ", recompute_granularity: full, recompute_method: block, recompute_num_layers: 3",
      kEightRanks.rest};
  EXPECT_THAT(
      advice_of(kEightRanks, bytes_of(three)),
      StartsWith("recompute_granularity full, recompute_method block, recompute_num_layers 3 is predicted to fit, "
                 "with "));
  EXPECT_THAT(advice_of(kEightRanks, bytes_of(three) - 1), HasSubstr("recompute_num_layers 4 is predicted to fit"));
  EXPECT_THAT(advice_of(three, bytes_of(three) - 1), HasSubstr("recompute_num_layers 4 is predicted to fit"));
}

TEST(MemoryAdvice, OnTheSameRanksWhereRecomputationIsNotEnough) {
  const Settings all{
      kEightRanks.model + ", recompute_granularity: full, recompute_method: block, recompute_num_layers: 32",
      kEightRanks.rest};
  EXPECT_THAT(
      advice_of(all, bytes_of(all) - 1),
      StartsWith("recompute_num_layers 16, pipeline_model_parallel_size 2, data_parallel_size 4, num_microbatches 8 "
                 "on the same 8 ranks is predicted to fit"));
  const Settings chunks{
      "preset: llama3-8b, num_layers: 24, pipeline_model_parallel_size: 2, "
      "virtual_pipeline_model_parallel_size: 6, recompute_granularity: full, recompute_method: "
      "uniform, recompute_num_layers: 1",
      "data_parallel_size: 4\ntrain: {num_microbatches: 8}\n"};
  EXPECT_THAT(
      advice_of(chunks, bytes_of(chunks) - 1),
      StartsWith("pipeline_model_parallel_size 4, data_parallel_size 2, num_microbatches 16 on the same 8 ranks"));
  // Layers that no other number of stages shares.
  const Settings odd{
      "preset: llama3-8b, num_layers: 31, recompute_granularity: full, recompute_method: uniform, "
      "recompute_num_layers: 1",
      kEightRanks.rest};
  EXPECT_THAT(advice_of(odd, bytes_of(odd) - 1),
              StartsWith("tensor_model_parallel_size 2, sequence_parallel true, data_parallel_size 4,"));
}

TEST(MemoryAdvice, ShardsTheOptimizerWhereNothingElseDivides) {
  const Settings whole{
      "preset: llama3-8b, num_layers: 31, num_attention_heads: 31, num_query_groups: 31, hidden_size: "
      "3968, recompute_granularity: full, recompute_method: uniform, recompute_num_layers: 1",
      "data_parallel_size: 8\nddp: {use_distributed_optimizer: false}\n"};
  EXPECT_THAT(advice_of(whole, bytes_of(whole) - 1), StartsWith("use_distributed_optimizer true is predicted to fit"));
  const Settings copies{whole.model, "data_parallel_size: 8\nddp: {num_distributed_optimizer_instances: 2}\n"};
  EXPECT_THAT(advice_of(copies, bytes_of(copies) - 1),
              StartsWith("num_distributed_optimizer_instances 1 is predicted to fit"));
  const Settings sharded{whole.model, "data_parallel_size: 8\n"};
  EXPECT_THAT(advice_of(sharded, bytes_of(sharded) - 1), StartsWith("context_parallel_size 2, data_parallel_size 4"));
  const Settings batches{whole.model, "train: {micro_batch_size: 4}\n"};
  EXPECT_THAT(advice_of(batches, bytes_of(batches) - 1),
              StartsWith("micro_batch_size 2, num_microbatches 2 is predicted to fit"));
}

TEST(MemoryAdvice, TakesTwoChangesWhereOneIsNotEnough) {
  const std::string odd_heads = "preset: llama3-8b, num_attention_heads: 31, num_query_groups: 31, hidden_size: 3968";
  const Settings one{odd_heads, kEightRanks.rest};
  const Settings both{odd_heads +
                          ", pipeline_model_parallel_size: 8, recompute_granularity: full, "
                          "recompute_method: block, recompute_num_layers: 4",
                      "train: {num_microbatches: 32}\n"};
  EXPECT_THAT(advice_of(one, bytes_of(both)),
              AllOf(StartsWith("recompute_granularity full"), HasSubstr("pipeline_model_parallel_size"),
                    HasSubstr("on the same 8 ranks")));
}

TEST(MemoryAdvice, LeavesAloneWhatIsTunedToASizeOrHasNoOtherStages) {
  const Settings tuned{
      "preset: llama3-8b, num_layers: 31, tensor_model_parallel_size: 2, sequence_parallel: true, "
      "recompute_granularity: full, recompute_method: uniform, recompute_num_layers: 1",
      "data_parallel_size: 4\ncomm_overlap: {tp_comm_overlap: true}\n"};
  EXPECT_THAT(advice_of(tuned, bytes_of(tuned) - 1), StartsWith("context_parallel_size 2"));
  const Settings emulated{
      "preset: llama3-8b, recompute_granularity: full, recompute_method: uniform, "
      "recompute_num_layers: 1",
      "data_parallel_size: 8\nrun: {backend: cuda, link: 'emulated:450GB/s,sms=16'}\n"};
  EXPECT_THAT(advice_of(emulated, bytes_of(emulated) - 1), StartsWith("tensor_model_parallel_size 2")) << "no stages";
}

TEST(MemoryAdvice, TellsTheMostLayersThatFit) {
  const auto config = [](const std::string& model) {
    return plan_of("model: {preset: tiny, " + model + "}\ntrain: {num_microbatches: 2}").config;
  };
  const auto bytes_of = [&](const std::string& model) { return predicted_memory(config(model)).total(); };
  const Config of_twelve = config("num_layers: 12");
  EXPECT_EQ(layers_that_fit(of_twelve, bytes_of("num_layers: 7")), 7);
  EXPECT_EQ(layers_that_fit(of_twelve, bytes_of("num_layers: 7") - 1), 6);
  EXPECT_EQ(layers_that_fit(of_twelve, bytes_of("num_layers: 12")), 11) << "fewer, for those did not fit";
  EXPECT_EQ(layers_that_fit(of_twelve, bytes_of("num_layers: 1") - 1), std::nullopt);
  const std::string stages = ", pipeline_model_parallel_size: 2, virtual_pipeline_model_parallel_size: 2";
  EXPECT_EQ(layers_that_fit(config("num_layers: 12" + stages), bytes_of("num_layers: 8" + stages)), 8);
  EXPECT_EQ(layers_that_fit(config("num_layers: 12" + stages), bytes_of("num_layers: 8" + stages) - 1), 4);
  const std::string block = ", recompute_granularity: full, recompute_method: block, recompute_num_layers: ";
  EXPECT_EQ(advice_on_memory(config("num_layers: 12" + block + "12"), bytes_of("num_layers: 7" + block + "7")),
            "--layers 7 with model.recompute_num_layers 7 is predicted to fit");
  const std::string uniform = ", recompute_granularity: full, recompute_method: uniform, recompute_num_layers: 1";
  EXPECT_EQ(advice_on_memory(config("num_layers: 12" + uniform), bytes_of("num_layers: 7" + uniform)),
            "--layers 7 is predicted to fit");
  EXPECT_EQ(advice_on_memory(of_twelve, 0), "no smaller number of layers fits: use more ranks");
  EXPECT_THAT(advice_on_memory(of_twelve, 1'000'000'000), HasSubstr("GB, without fragmentation"));
  const Config uneven =
      config("num_layers: 12, pipeline_model_parallel_size: 2, num_layers_in_first_pipeline_stage: 4");
  EXPECT_EQ(advice_on_memory(uneven, 0), "use fewer layers, or more ranks");
}

}  // namespace
}  // namespace underlap::plan
