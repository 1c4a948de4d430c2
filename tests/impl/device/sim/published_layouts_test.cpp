// SPDX-License-Identifier: Apache-2.0
// Predicted memory, with the margin of plannable_memory_bytes(), against layouts that ran and layouts that ran out of
// memory. The program that ran them is not Megatron: it gathered the logits of all tensor-parallel ranks for an unfused
// loss, and its activation was not fused. Flash attention 2, sharded optimizer, gradients in bf16, vocabulary 128,000
// assumed.
#include <fmt/format.h>

#include <fstream>
#include <sstream>

#include "impl/device/sim/machine.hpp"
#include "tests/impl/plan/plan_testing.hpp"

namespace underlap {
namespace {

struct PublishedLayout {
  std::string model;
  int seq_length = 0, gpus = 0, micro_batch = 0, tp = 0, pp = 0;
  bool is_sequence_parallel = false, recomputes = false, has_fused_norm = false, ran_out_of_memory = false;
};

std::vector<PublishedLayout> published_layouts() {
  std::ifstream file(UNDERLAP_SOURCE_DIR "/tests/data/memory/a100_layouts.txt");
  std::vector<PublishedLayout> layouts;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    PublishedLayout& l = layouts.emplace_back();
    std::istringstream(line) >> l.model >> l.seq_length >> l.gpus >> l.micro_batch >> l.tp >> l.pp >>
        l.is_sequence_parallel >> l.recomputes >> l.has_fused_norm >> l.ran_out_of_memory;
  }
  return layouts;
}

std::string yaml_of(const PublishedLayout& l) {
  const std::string sizes = l.model == "13B"
                                ? "num_layers: 40, hidden_size: 5120, ffn_hidden_size: 13824, num_attention_heads: 40, "
                                  "num_query_groups: 40"
                                : "num_layers: 80, hidden_size: 8192, ffn_hidden_size: 22016, num_attention_heads: 64, "
                                  "num_query_groups: 64";
  return fmt::format(
      "model: {{{}, vocab_size: 128000, seq_length: {}, tensor_model_parallel_size: {}, "
      "pipeline_model_parallel_size: {}, sequence_parallel: {}, cross_entropy_loss_fusion: false, parallel_output: "
      "false, bias_activation_fusion: false{}}}\ndata_parallel_size: {}\ntrain: {{micro_batch_size: {}, "
      "global_batch_size: {}}}\nddp: {{use_distributed_optimizer: true}}\nmixed_precision: {{grad_reduce_in_fp32: "
      "false}}\nenvironment: {{gpu_arch: a100}}\nextensions: {{norm_fusion: {}}}\nrun: {{backend: sim, hardware: "
      "a100-sxm}}\n",
      sizes, l.seq_length, l.tp, l.pp, l.is_sequence_parallel,
      l.recomputes ? ", recompute_granularity: full, recompute_method: uniform, recompute_num_layers: 1" : "",
      l.gpus / (l.tp * l.pp), l.micro_batch, l.seq_length == 2048 ? 2048 : 512, l.has_fused_norm);
}

TEST(PublishedLayouts, ThoseThatRanOutOfMemoryDoNotFit) {
  const std::vector<PublishedLayout> layouts = published_layouts();
  ASSERT_EQ(layouts.size(), 347U);
  int right = 0, should_have_fitted = 0;
  for (const PublishedLayout& layout : layouts) {
    const plan::Plan plan = plan::plan_of(yaml_of(layout));
    ASSERT_THAT(plan.errors, testing::IsEmpty()) << yaml_of(layout);
    const bool fits = plan.peak_memory.total() <= sim::plannable_memory_bytes(plan.config);
    right += fits != layout.ran_out_of_memory;
    should_have_fitted += !fits && !layout.ran_out_of_memory;
  }
  EXPECT_GE(right, 320) << "92 %";
  EXPECT_LE(should_have_fitted, 7) << "2 %";
}

}  // namespace
}  // namespace underlap
