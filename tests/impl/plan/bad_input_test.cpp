// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>

#include "tests/impl/plan/plan_testing.hpp"

namespace underlap::plan {
namespace {

TEST(BadInput, UnknownKeyNamesTheNearestOne) {
  EXPECT_THAT(errors_of("model: {preset: tiny}\ncomm_overlap:\n  overlap_grad_reduc: true\n"),
              ElementsAre("f:3:3: unknown key \"comm_overlap.overlap_grad_reduc\"; did you mean "
                          "comm_overlap.overlap_grad_reduce?"));
}

TEST(BadInput, UnknownSectionNamesTheNearestOne) {
  EXPECT_THAT(errors_of("modle: {preset: tiny}\nmodel: {preset: tiny}"),
              ElementsAre("f:1:1: unknown key \"modle\"; did you mean model?"));
}

TEST(BadInput, KeyInTheWrongSectionNamesTheRightOne) {
  EXPECT_THAT(errors_of("model: {preset: tiny}\nrun: {lr: 1}"),
              ElementsAre("f:2:7: unknown key \"run.lr\"; it belongs at optimizer.lr"));
}

TEST(BadInput, KeyThatIsWrongInSectionAndNameIsFoundElsewhere) {
  EXPECT_THAT(errors_of("model: {preset: tiny}\nrun: {tensor_parallel_size: 2}"),
              ElementsAre("f:2:7: unknown key \"run.tensor_parallel_size\"; did you mean "
                          "model.tensor_model_parallel_size?"));
}

TEST(BadInput, FarFetchedKeyGetsNoSuggestion) {
  EXPECT_THAT(errors_of("model: {preset: tiny}\nzzzzzzzzzz: 1"),
              ElementsAre("f:2:1: unknown key \"zzzzzzzzzz\"; underlap list knobs shows every key"));
}

TEST(BadInput, AllErrorsAreReportedAtOnceInOrder) {
  const auto errors = errors_of(
      "run: {steps: 0, blocks: many}\n"
      "model: {preset: tiny, hidden_size: 130}\n"
      "nonsense_here: 1\n"
      "comm_overlap: {bucket_size: -3, bucket_size: 4}\n");
  EXPECT_THAT(errors,
              ElementsAre(StartsWith("f:1:14: run.steps"), StartsWith("f:1:25: run.blocks"),
                          StartsWith("f:2:23: model.hidden_size is 130"), StartsWith("f:3:1: unknown key"),
                          StartsWith("f:4:29: comm_overlap.bucket_size must"), StartsWith("f:4:33: duplicate key")));
}

struct WrongValue {
  std::string setting;
  std::string what;
};

class WrongValues : public testing::TestWithParam<WrongValue> {};

TEST_P(WrongValues, AreErrorsThatSayWhatIsAllowed) {
  const auto dot = GetParam().setting.find('.');
  const std::string section = GetParam().setting.substr(0, dot);
  const std::string preset = section == "model" ? "preset: tiny, " : "";
  const std::string other = section == "model" ? "" : "model: {preset: tiny}\n";
  EXPECT_THAT(errors_of(other + section + ": {" + preset + GetParam().setting.substr(dot + 1) + "}"),
              Only(GetParam().what))
      << GetParam().setting;
}

INSTANTIATE_TEST_SUITE_P(
    BadInput, WrongValues,
    testing::Values(
        WrongValue{"run.steps: 0", "a whole number from 1 to 4095"}, WrongValue{"run.steps: -1", "not \"-1\""},
        WrongValue{"run.steps: 1.5", "a whole number"}, WrongValue{"run.steps: 1e3", "a whole number"},
        WrongValue{"run.steps: \"3\"", "not the text"}, WrongValue{"run.steps: [3]", "not a list"},
        WrongValue{"run.steps: {a: 3}", "not a mapping"},
        WrongValue{"run.steps: 99999999999999999999", "a whole number"},
        WrongValue{"run.steps: 0x10", "a whole number"}, WrongValue{"run.steps: true", "a whole number"},
        WrongValue{"run.blocks: 0", "from 1"}, WrongValue{"run.warmup: 0", "from 1"},
        WrongValue{"run.link_gbps: 0", "from 1e-06"}, WrongValue{"run.link_gbps: 1e-30", "from 1e-06"},
        WrongValue{"run.link_gbps: .nan", "finite"}, WrongValue{"run.link_gbps: nan", "finite"},
        WrongValue{"run.link_gbps: .inf", "finite"}, WrongValue{"run.link_gbps: inf", "finite"},
        WrongValue{"run.link_gbps: 1e999", "finite"}, WrongValue{"run.link_latency_us: -1", "from 0"},
        WrongValue{"run.peer_timeout_s: 0", "from 0.001"}, WrongValue{"run.trace: 1", "true, false or strict"},
        WrongValue{"run.trace: \"true\"", "not the text"}, WrongValue{"run.backend: gpu", "host, cuda, sim"},
        WrongValue{"run.backend: hots", "did you mean host?"}, WrongValue{"run.seed: -1", "from 0"},
        WrongValue{"run.traces: some", "must be all, none, worst or sample:N"},
        WrongValue{"run.traces: sample", "must be all"}, WrongValue{"run.traces: 'sample:0'", "N of at least 1"},
        WrongValue{"run.traces: 'sample:2x'", "must be all"}, WrongValue{"run.traces: 3", "must be all"},
        WrongValue{"run.traces: 'sample:99999999999999999999'", "must be all"},
        WrongValue{"run.link: fast", "real or emulated:RATE"}, WrongValue{"run.gpus_per_node: 0", "from 1"},
        WrongValue{"run.jitter_pct: 101", "from 0 to 100"}, WrongValue{"run.jitter_pct: -1", "from 0"},
        WrongValue{"run.numerics: 1", "true or false"}, WrongValue{"run.hardware: [h100]", "not a list"},
        WrongValue{"environment.torch_nccl_high_priority: 1", "true or false"},
        WrongValue{"environment.moe_flex_dispatcher_backend: deep", "deepep, hybridep"},
        WrongValue{"model.hidden_size: 0", "from 1"}, WrongValue{"model.hidden_size: -128", "from 1"},
        WrongValue{"model.num_layers: two", "not \"two\""}, WrongValue{"model.num_layers: 1000000", "from 1 to 10000"},
        WrongValue{"train.num_microbatches: 1000000000", "from 1 to 1000000"},
        WrongValue{"model.vocab_size: 255", "from 256"}, WrongValue{"model.activation: relu", "swiglu"},
        WrongValue{"model.hidden_size: 130", "not divisible by"},
        WrongValue{"model.num_query_groups: 3", "not divisible by"},
        WrongValue{"model.tensor_model_parallel_size: 0", "from 1"}, WrongValue{"train.micro_batch_size: 0", "from 1"},
        WrongValue{"optimizer.lr: 0", "above 0"}, WrongValue{"optimizer.adam_beta1: 1.5", "to 1"},
        WrongValue{"comm_overlap.bucket_size: 0", "from 1"},
        WrongValue{"environment.cuda_device_max_connections: 33", "from 1 to 32"},
        WrongValue{"environment.gpu_arch: h1000", "did you mean h100?"},
        WrongValue{"mixed_precision.recipe: bf16", "one of bf16_mixed"},
        WrongValue{"extensions.reduce_accumulator: fp64", "wire, fp32"}));

TEST(BadInput, NotYaml) { EXPECT_THAT(errors_of("a: [1, 2\nb: }"), Only("not YAML")); }

TEST(BadInput, BinaryFile) { EXPECT_THAT(errors_of(std::string("\x89PNG\r\n\x1a\n\0\0\0\xff", 12)), SizeIs(1)); }

TEST(BadInput, EmptyFile) {
  for (const char* yaml : {"", "\n", "# only a comment\n", "---\n", "null\n", "~"})
    EXPECT_THAT(errors_of(yaml), ElementsAre(StartsWith("f:1:1: the file is empty"))) << yaml;
}

TEST(BadInput, ListOrWordInPlaceOfAMapping) {
  EXPECT_THAT(errors_of("- model\n"), ElementsAre(AllOf(StartsWith("f:1:1"), HasSubstr("not a list"))));
  EXPECT_THAT(errors_of("model"), Only("not \"model\""));
}

TEST(BadInput, SectionThatIsNoMapping) {
  EXPECT_THAT(errors_of("model: {preset: tiny}\nrun: [1]\ntrain: 3"),
              ElementsAre("f:2:6: run must be a mapping of settings, not a list",
                          "f:3:8: train must be a mapping of settings, not \"3\""));
}

TEST(BadInput, HugeFile) { EXPECT_THAT(errors_of(std::string(2 << 20, '#')), Only("larger than 1 MiB")); }

TEST(BadInput, ExponentialAliasesAreRefused) {
  std::string yaml = "model: {preset: tiny}\nx-0: &a0 [1, 1]\n";
  for (int i = 1; i < 30; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    yaml += "x-" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before + ", " + before + "]\n";
  }
  EXPECT_THAT(errors_of(yaml + "comm_overlap: {tp_comm_overlap_cfg: *a29}"), Only("holds more than 1000 values"));
}

TEST(BadInput, SizesThatLeaveSixtyFourBitsTogetherAreRefusedWithThem) {
  EXPECT_THAT(
      errors_of("model: {preset: tiny, hidden_size: 1000000000, ffn_hidden_size: 1000000000, num_layers: 10000}"),
      ElementsAre(AllOf(StartsWith("f:1:23: a rank would need at least 3.0e+18 bytes for weights"),
                        HasSubstr("limit of 1e+15"), HasSubstr("model.ffn_hidden_size 1000000000"))));
  EXPECT_THAT(errors_of("model: {preset: tiny, seq_length: 1000000000}\ntrain: {micro_batch_size: 1000000}"),
              ElementsAre(AllOf(StartsWith("f:2:9: a rank would need"), HasSubstr("bytes for activations"),
                                HasSubstr("lower one of train.micro_batch_size 1000000"))));
  EXPECT_THAT(errors_of("model: {preset: tiny}\ntrain: {global_batch_size: 1000000000}"),
              Only("makes 1000000000 microbatches per step on each rank, more than the limit of 1e+06"));
}

TEST(BadInput, ManyErrorsAreCountedAndTheFirstOfThemTold) {
  std::string yaml = "model: {preset: tiny}\n";
  for (int i = 0; i < 50'000; ++i) yaml += "no_such_key_" + std::to_string(i) + ": 1\n";
  const auto errors = errors_of(yaml);
  ASSERT_EQ(errors.size(), 101U);
  EXPECT_THAT(errors.back(), HasSubstr("at least 49900 more errors follow"));
}

TEST(BadInput, MissingFileAndDirectoryAreNamed) {
  const auto folder = std::filesystem::temp_directory_path();
  EXPECT_THAT([&] { load(folder / "underlap_no_such_file.yaml"); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("underlap_no_such_file.yaml: no such file")));
  EXPECT_THAT([&] { load(folder); }, ThrowsMessage<std::invalid_argument>(HasSubstr("a folder, not a file")));
  for (const char* device : {"/dev/zero", "/dev/null", "/dev/full"})
    EXPECT_THAT([&] { load(device); }, ThrowsMessage<std::invalid_argument>(HasSubstr("a device, not a file")));
}

TEST(BadInput, ErrorsAreEachReportedOnce) {
  EXPECT_THAT(errors_of("model: {preset: tiny, hidden_size: 130}\nmatrix: {run.steps: [1, 2, 3]}\n"),
              Only("hidden_size is 130"));
}

TEST(BadInput, EveryPlanHoldsTheErrorsOfItsFile) {
  const Matrix matrix = parse("model: {preset: tiny}\nrun: {step: 1}\nmatrix: {run.blocks: [1, 2]}\n", "f");
  ASSERT_EQ(matrix.cells.size(), 2U);
  for (const Cell& cell : matrix.cells) EXPECT_EQ(cell.plan.errors.size(), 1U);
}

TEST(BadInput, AnUnreadableFileStillHasOneCellForItsErrors) {
  const Matrix matrix = parse("[", "f");
  ASSERT_EQ(matrix.cells.size(), 1U);
  EXPECT_EQ(matrix.cells[0].plan.errors.size(), 1U);
}

TEST(GoodInput, AnchorsMayStandUnderXKeys) {
  const Plan plan =
      plan_of("x-short: &short {steps: 3, blocks: 2}\nmodel: {preset: tiny}\nrun: {<<: *short, steps: 4}\n");
  EXPECT_EQ(plan.config.run.steps, 4);
  EXPECT_EQ(plan.config.run.blocks, 2);
}

TEST(GoodInput, NullIsTheDefault) {
  const Plan plan = plan_of("model: {preset: tiny}\nrun: {steps: null, link_gbps: ~, backend:}\ntrain:\n");
  EXPECT_EQ(plan.config.run.steps, RunConfig{}.steps);
  EXPECT_EQ(plan.config.run.link_gbps, 0);
}

}  // namespace
}  // namespace underlap::plan
