// SPDX-License-Identifier: Apache-2.0
#include <random>

#include "impl/plan/schema/schema.hpp"
#include "tests/impl/plan/plan_testing.hpp"

namespace underlap::plan {
namespace {

const std::string kSeed =
    "x-base: &base {steps: 3, blocks: 2}\n"
    "model: {preset: tiny, num_layers: 8, tensor_model_parallel_size: 2, sequence_parallel: true}\n"
    "data_parallel_size: 2\n"
    "train: {micro_batch_size: 1, num_microbatches: 4}\n"
    "ddp:\n  use_distributed_optimizer: true\n  overlap_grad_reduce: null\n"
    "comm_overlap: {tp_comm_overlap: true, tp_comm_overlap_cfg: {qkv_fprop: {num_sm: 1}}, bucket_size: 1000}\n"
    "mixed_precision: {recipe: bf16_mixed, grad_reduce_in_fp32: false}\n"
    "environment: {gpu_arch: b200}\n"
    "run:\n  <<: *base\n  link_gbps: 4.5\n"
    "matrix:\n  overlap:\n    - {name: off, comm_overlap.overlap_param_gather: false}\n    - {name: none, no_comm: "
    "true}\n"
    "  run.seed: [1, 2]\n";

/// Pieces that readers trip over.
const std::vector<std::string> kPieces = {"{",           "}",
                                          "[",           "]",
                                          ":",           ": ",
                                          "- ",          "\n",
                                          "\n  ",        "*base",
                                          "&base ",      "<<: ",
                                          "? ",          "|\n",
                                          ">\n",         "!!int ",
                                          "\"",          "'",
                                          "#",           "---\n",
                                          "...\n",       ",",
                                          "null",        "~",
                                          "-1",          ".nan",
                                          "1e999",       "true",
                                          "\t",          "\\x",
                                          "%YAML 1.2\n", "\xff",
                                          "0",           "999999999999999999999",
                                          "model",       "matrix: {run.steps: [1]}\n"};

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  std::string mutate(std::string text) {
    const std::size_t times = 1 + below(3);
    for (std::size_t i = 0; i < times; ++i) mutate_once(text);
    return text;
  }

 private:
  std::size_t below(std::size_t limit) { return random_() % limit; }

  void mutate_once(std::string& text) {
    const std::size_t at = below(text.size() + 1);
    const std::size_t length = std::min(below(12), text.size() - at);
    switch (below(5)) {
      case 0: text.erase(at, length); break;
      case 1: text.insert(at, kPieces[below(kPieces.size())]); break;
      case 2: text.replace(at, length, kPieces[below(kPieces.size())]); break;
      case 3: text.insert(at, text.substr(below(text.size() + 1), 40)); break;
      default: text.insert(at, std::string(all_paths()[below(all_paths().size())])); break;
    }
  }

  std::mt19937_64 random_;
};

TEST(PlanFuzz, MutatedConfigurationsNeverCrashAndAlwaysRender) {
  std::size_t good = 0;
  constexpr std::uint64_t kCases = 4000;
  for (std::uint64_t seed = 0; seed < kCases; ++seed) {
    const std::string yaml = Mutator(seed).mutate(kSeed);
    SCOPED_TRACE(seed);
    Matrix matrix;
    ASSERT_NO_THROW(matrix = parse(yaml, "f")) << yaml;
    ASSERT_FALSE(matrix.cells.empty()) << yaml;
    ASSERT_NO_THROW(to_json(matrix.cells.back().plan)) << yaml;
    ASSERT_FALSE(text_of(matrix.cells.back().plan).empty());
    good += matrix.has_errors() ? 0 : 1;
  }
  EXPECT_GT(good, kCases / 100);  // else the mutations are too coarse to reach the rules
  EXPECT_LT(good, kCases);
}

}  // namespace
}  // namespace underlap::plan
