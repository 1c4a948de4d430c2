// SPDX-License-Identifier: Apache-2.0
// Checking a configuration without running it.
#include <cstdio>

#include "tests/bench/commands/program.hpp"

namespace underlap::bench {
namespace {

Outcome check_of(const std::string& config, const Words& more = {}) {
  const RunFolder folder(config);
  return underlap_program(joined({"check", folder.config()}, more));
}

Json checked(const std::string& config, const Words& more = {}) {
  const RunFolder folder(config);
  return json_of(joined({"check", folder.config()}, more));
}

TEST(Check, PrintsJson) {
  const Json json = checked(tiny_config("data_parallel_size: 2\n"), {"--steps", "3"});
  EXPECT_EQ(json["schema"], "underlap.check/1");
  ASSERT_EQ(json["cells"].size(), 1U);
  EXPECT_EQ(json["cells"][0]["num_steps"], 3);
  EXPECT_EQ(json["cells"][0]["num_ranks"], 2);
  EXPECT_TRUE(json["cells"][0]["findings"].empty());
}

constexpr const char* kNumericsMatrix =
    "data_parallel_size: 2\ncomm_overlap: {bucket_size: 8000}\nmatrix:\n"
    "  overlap:\n"
    "    - {name: off, comm_overlap.overlap_grad_reduce: false, comm_overlap.overlap_param_gather: false}\n"
    "    - {name: both, comm_overlap.overlap_grad_reduce: true, comm_overlap.overlap_param_gather: true}\n"
    "    - {name: no_comm, comm_overlap.overlap_grad_reduce: false, no_comm: true}\n"
    "  mixed_precision.grad_reduce_in_fp32: [true, false]\n";

TEST(Check, LabelsTheNumericsOfEachCellByComputingThem) {
  const Json json = checked(tiny_config(kNumericsMatrix), {"--numerics-steps", "4"});
  Words labels;
  for (const Json& cell : json["cells"]) labels.push_back(cell["numerics"]["label"]);
  EXPECT_THAT(labels, ElementsAre("reference", "lower_precision", "bit_identical", "bit_identical", "not_checked",
                                  "not_checked"));
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
  expect_success(
      folder.arguments({"--backend", "sim", "--numerics", "true", "--steps", "5", "--blocks", "1", "--warmup", "1"}));
  const report::RunResults results = folder.results();
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

TEST(Check, ComputesNothingWhereNumericsAreLeftOut) {
  const Json json = checked(tiny_config(kNumericsMatrix), {"--no-numerics"});
  for (const Json& cell : json["cells"]) EXPECT_EQ(cell["numerics"], nullptr);
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
