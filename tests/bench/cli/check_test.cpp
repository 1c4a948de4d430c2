// SPDX-License-Identifier: Apache-2.0
// Checking a configuration without running it.
#include <chrono>
#include <nlohmann/json.hpp>

#include "tests/bench/cli/program.hpp"

namespace underlap::bench {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

Outcome check_of(const std::string& config, std::vector<std::string> more = {}) {
  const RunFolder folder(config);
  more.insert(more.begin(), {"check", folder.config()});
  return underlap_program(more);
}

TEST(Check, FindsNothingWrongWithAnyCellOfAMatrix) {
  const Outcome outcome =
      check_of(tiny_config("data_parallel_size: 3\ncomm_overlap: {bucket_size: 8000}\nmatrix:\n"
                           "  comm_overlap.overlap_grad_reduce: [false, true]\n"
                           "  comm_overlap.overlap_param_gather: [false, true]\n"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 4);
  EXPECT_THAT(outcome.out, HasSubstr("3 ranks, 2 steps, "));
  EXPECT_THAT(outcome.out, HasSubstr(": nothing found\n"));
}

TEST(Check, PrintsJson) {
  const Outcome outcome = check_of(tiny_config("data_parallel_size: 2\n"), {"--json", "--steps", "3"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json json = Json::parse(outcome.out);
  EXPECT_EQ(json["schema"], "underlap.check/1");
  ASSERT_EQ(json["cells"].size(), 1U);
  EXPECT_EQ(json["cells"][0]["num_steps"], 3);
  EXPECT_EQ(json["cells"][0]["num_ranks"], 2);
  EXPECT_TRUE(json["cells"][0]["findings"].empty());
}

TEST(Check, NeedsNoBackend) {
  const Outcome outcome = check_of("model: {preset: tiny}\nrun: {backend: cuda}\n");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
}

TEST(Check, RefusesWhatIsNoConfigurationAndWhatDoesNotRun) {
  EXPECT_THAT(check_of("modle: {preset: tiny}\n"), fails_with(2, "did you mean model?"));
  EXPECT_THAT(check_of("model: {preset: tiny, tensor_model_parallel_size: 2}\n"),
              fails_with(2, "not run by this version"));
  EXPECT_THAT(check_of(tiny_config("train: {data: /no/such}\n")), fails_with(2, "(train.data)"));
  EXPECT_THAT(check_of(tiny_config(), {"--steps", "0"}), fails_with(2, "--steps"));
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
      "comm_overlap: {overlap_grad_reduce: true, overlap_param_gather: true}\n");
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("64 ranks"));
  std::printf("64 ranks of 4 layers took %.2f s\n", took.count());
}

}  // namespace
}  // namespace underlap::bench
