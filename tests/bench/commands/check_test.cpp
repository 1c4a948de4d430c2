// SPDX-License-Identifier: Apache-2.0
// Checking a configuration without running it.
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "platform/json.hpp"
#include "tests/bench/commands/program.hpp"

namespace underlap::bench {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

Outcome check_of(const std::string& config, std::vector<std::string> more = {}) {
  const RunFolder folder(config);
  more.insert(more.begin(), {"check", folder.config()});
  return underlap_program(more);
}

// tiny_config() for backend cuda.
std::string tiny_config_for_gpus(const std::string& more = "") {
  std::string config = tiny_config(more);
  const std::string run = "run: {";
  return config.insert(config.find(run) + run.size(), "backend: cuda, ");
}

TEST(Check, FindsNothingWrongWithAnyCellOfAMatrix) {
  const Outcome outcome = check_of(tiny_config("data_parallel_size: 3\ncomm_overlap: {bucket_size: 8000}\nmatrix:\n"
                                               "  comm_overlap.overlap_grad_reduce: [false, true]\n"
                                               "  comm_overlap.overlap_param_gather: [false, true]\n"),
                                   {"--no-numerics"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 4);
  EXPECT_THAT(outcome.out, HasSubstr("3 ranks, 2 steps, "));
  EXPECT_THAT(outcome.out, HasSubstr(": nothing found\n"));
}

TEST(Check, PrintsJson) {
  const Outcome outcome = check_of(tiny_config("data_parallel_size: 2\n"), {"--json", "--steps", "3"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json json = parse_json(outcome.out);
  EXPECT_EQ(json["schema"], "underlap.check/1");
  ASSERT_EQ(json["cells"].size(), 1U);
  EXPECT_EQ(json["cells"][0]["num_steps"], 3);
  EXPECT_EQ(json["cells"][0]["num_ranks"], 2);
  EXPECT_TRUE(json["cells"][0]["findings"].empty());
}

TEST(Check, NeedsNoBackend) {
  const Outcome outcome = check_of(tiny_config_for_gpus());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
}

constexpr const char* kNumericsMatrix =
    "data_parallel_size: 2\ncomm_overlap: {bucket_size: 8000}\nmatrix:\n"
    "  overlap:\n"
    "    - {name: off, comm_overlap.overlap_grad_reduce: false, comm_overlap.overlap_param_gather: false}\n"
    "    - {name: both, comm_overlap.overlap_grad_reduce: true, comm_overlap.overlap_param_gather: true}\n"
    "    - {name: no_comm, comm_overlap.overlap_grad_reduce: false, no_comm: true}\n"
    "  mixed_precision.grad_reduce_in_fp32: [true, false]\n";

TEST(Check, LabelsTheNumericsOfEachCellByComputingThem) {
  const Outcome outcome = check_of(tiny_config(kNumericsMatrix), {"--json", "--numerics-steps", "4"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json json = parse_json(outcome.out);
  std::vector<std::string> labels;
  for (const Json& cell : json["cells"]) labels.push_back(cell["numerics"]["label"]);
  EXPECT_THAT(labels, ::testing::ElementsAre("reference", "lower_precision", "bit_identical", "bit_identical",
                                             "not_checked", "not_checked"));
  const Json& lower = json["cells"][1]["numerics"];
  EXPECT_EQ(lower["reference"], json["cells"][0]["name"]);
  EXPECT_EQ(lower["steps"], 4);
  EXPECT_TRUE(lower["shrunk"].empty());
  EXPECT_GT(lower["max_loss_difference"], 0);
  EXPECT_EQ(json["axes"].size(), 2U);
}

// The words and figures of check are those of run, for a configuration that is not shrunk.
TEST(Check, SaysOfNumericsWhatARunInVirtualTimeSays) {
  const RunFolder folder(tiny_config(kNumericsMatrix));
  const Outcome run = underlap_program(
      folder.arguments({"--backend", "sim", "--numerics", "true", "--steps", "5", "--blocks", "1", "--warmup", "1"}));
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const report::RunResults results = report::read_results(folder.run());
  const Outcome check = underlap_program({"check", "--json", "--numerics-steps", "7", folder.config()});
  const Json json = parse_json(check.out);
  for (std::size_t i = 0; i < results.cells.size(); ++i) {
    const Json& numerics = json["cells"][i]["numerics"];
    EXPECT_EQ(numerics["label"], to_string(results.cells[i].label)) << results.cells[i].name;
    EXPECT_EQ(numerics["max_loss_difference"], results.cells[i].max_loss_difference) << results.cells[i].name;
  }
}

TEST(Check, ShrinksAModelThatIsTooLargeToComputeAndSaysHow) {
  const Outcome outcome = check_of(
      "model: {preset: llama3-8b, num_layers: 4}\ndata_parallel_size: 4\ntrain: {micro_batch_size: 2, "
      "num_microbatches: 4}\n"
      "comm_overlap: {bucket_size: 400000000}\nrun: {backend: cuda}\n"
      "matrix: {comm_overlap.overlap_grad_reduce: [false, true]}\n");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("shrunk: micro_batch_size 2 -> 1, seq_length 8192 -> 64, "));
  EXPECT_THAT(outcome.out, HasSubstr("overlap_grad_reduce=true alone: bit_identical\n"));
}

// An axis named overlap that moves more than overlap: what a schedule that loses a gradient looks like.
TEST(Check, FindsALossThatOverlapMustNotMove) {
  const Outcome outcome = check_of(
      tiny_config("data_parallel_size: 2\nmatrix:\n  overlap:\n    - {name: off, comm_overlap.overlap_grad_reduce: "
                  "false}\n    - {name: both, comm_overlap.overlap_grad_reduce: true, optimizer.lr: 0.002}\n"));
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("\n  both: mismatch "));
  EXPECT_THAT(outcome.out, HasSubstr("\n  mismatch: cell both: loss differs from that of off by "));
}

// On GPUs attention's backward adds in any order, and losses may differ. Here nothing runs on one.
TEST(Check, FindsASmallDifferenceInAConfigurationForGpusToo) {
  const Outcome outcome = check_of(
      tiny_config_for_gpus("data_parallel_size: 2\nmatrix:\n  overlap:\n"
                           "    - {name: off, comm_overlap.overlap_grad_reduce: false, optimizer.lr: 0.001}\n"
                           "    - {name: both, comm_overlap.overlap_grad_reduce: true, optimizer.lr: 0.0010001}\n"));
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("\n  both: mismatch "));
}

TEST(Check, ComputesNothingWhereNumericsAreLeftOut) {
  const Outcome outcome = check_of(tiny_config(kNumericsMatrix), {"--json", "--no-numerics"});
  const Json json = parse_json(outcome.out);
  for (const Json& cell : json["cells"]) EXPECT_EQ(cell["numerics"], nullptr);
}

TEST(Check, RefusesWhatIsNoConfigurationAndWhatDoesNotRun) {
  EXPECT_THAT(check_of("modle: {preset: tiny}\n"), fails_with(2, "did you mean model?"));
  EXPECT_THAT(check_of("model: {preset: tiny, recompute_granularity: selective, recompute_modules: [mlp]}\n"),
              fails_with(2, "by this version"));
  EXPECT_THAT(check_of(tiny_config("train: {data: /no/such}\n")), fails_with(2, "(train.data)"));
  EXPECT_THAT(check_of(tiny_config(), {"--steps", "0"}), fails_with(2, "--steps"));
  EXPECT_THAT(check_of(tiny_config(), {"--numerics-steps", "1"}), fails_with(2, "--numerics-steps"));
  EXPECT_THAT(check_of(tiny_config(), {"--connections", "1,x"}), fails_with(2, "--connections"));
  EXPECT_THAT(check_of(tiny_config(), {"--launch-queue-depth", "0"}), fails_with(2, "--launch-queue-depth"));
  EXPECT_THAT(underlap_program({"check"}), fails_with(2, "CONFIG is required"));
}

TEST(Check, LooksForDeadlocksWithTheQueuesThatAreAskedFor) {
  const RunFolder folder(tiny_config("data_parallel_size: 2\n"));
  const Outcome outcome =
      underlap_program({"check", "--connections", "1,2", "--launch-queue-depth", "1", folder.config()});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
}

TEST(Check, TakesSixtyFourRanksOfFourLayers) {
  const auto start = std::chrono::steady_clock::now();
  const Outcome outcome = check_of(
      "model: {preset: llama3-8b, num_layers: 4}\ndata_parallel_size: 64\n"
      "comm_overlap: {overlap_grad_reduce: true, overlap_param_gather: true}\n",
      {"--no-numerics"});
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("64 ranks"));
  std::printf("64 ranks of 4 layers took %.2f s\n", took.count());
}

}  // namespace
}  // namespace underlap::bench
