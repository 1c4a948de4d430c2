// SPDX-License-Identifier: Apache-2.0
// Recipes of Megatron-Bridge for Llama 3 8B, 70B and 405B that ran, held against the memory of the GPUs that they ran
// on.
//
// Sources: Megatron-Bridge's pages performance-summary.md and performance-summary-archive.md, releases 25.09, 25.11 and
// 26.02, for the rows with a release: each has a published throughput. scripts/performance of the same repository for
// what these pages do not say, and for the rows "listed", which have no published figure: gradients in bf16, no layers
// in bf16 under fp8_cs, Transformer Engine's loss, a precision-aware optimizer in bf16, how FSDP shards, layers that
// are offloaded or recomputed, and which userbuffers there are.
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "impl/device/sim/hardware.hpp"
#include "tests/impl/plan/plan_testing.hpp"

namespace underlap {
namespace {

/// What the scripts set besides the sizes.
struct More {
  int offloaded = 0;   ///< cpu_offloading_num_layers
  int recomputed = 0;  ///< recompute_num_layers of a chunk's first ones
  bool is_fsdp = false;
};
constexpr More kFsdp{.is_fsdp = true};

struct Recipe {
  const char *release, *model, *gpu, *precision;
  int gpus, samples, micro_batch, tp, pp, cp, vp;
  More more = {};
};

// release, model, GPU, precision, GPUs, global and micro batch size, TP, PP, CP, VP
constexpr Recipe kRecipes[] = {
    {"26.02", "70b", "gb300", "nvfp4", 64, 256, 1, 1, 4, 1, 5},
    {"26.02", "70b", "gb200", "nvfp4", 64, 256, 1, 2, 4, 1, 5},
    {"26.02", "70b", "gb300", "fp8_mx", 64, 256, 1, 1, 4, 1, 5},
    {"26.02", "70b", "gb200", "fp8_mx", 64, 256, 1, 2, 4, 1, 5},
    {"26.02", "70b", "gb300", "fp8_cs", 64, 256, 2, 1, 1, 1, 1, {.offloaded = 20, .is_fsdp = true}},
    {"26.02", "70b", "gb200", "fp8_cs", 64, 256, 2, 1, 1, 1, 1, {.offloaded = 40, .is_fsdp = true}},
    {"26.02", "70b", "h100", "fp8_cs", 64, 256, 1, 4, 8, 1, 5},
    {"26.02", "405b", "gb300", "nvfp4", 256, 1536, 1, 4, 8, 1, 4},
    {"26.02", "405b", "gb200", "nvfp4", 256, 1536, 1, 4, 16, 1, 8},
    {"26.02", "405b", "gb300", "fp8_mx", 256, 1536, 1, 2, 8, 2, 4},
    {"26.02", "405b", "gb200", "fp8_mx", 256, 1536, 1, 4, 16, 1, 8},
    {"26.02", "405b", "gb300", "fp8_cs", 256, 1536, 1, 4, 8, 1, 4},
    {"26.02", "405b", "gb200", "fp8_cs", 256, 1536, 1, 4, 16, 1, 4},
    {"26.02", "405b", "h100", "fp8_cs", 1024, 1536, 1, 8, 8, 2, 8},
    {"25.11", "8b", "gb300", "fp8_cs", 8, 128, 2, 1, 1, 1, 1},
    {"25.11", "8b", "gb300", "fp8_mx", 8, 128, 2, 1, 1, 1, 1},
    {"25.11", "8b", "gb200", "fp8_cs", 8, 128, 2, 1, 1, 1, 1},
    {"25.11", "8b", "gb200", "fp8_mx", 8, 128, 2, 1, 1, 1, 1},
    {"25.11", "8b", "b200", "fp8_cs", 8, 128, 2, 1, 1, 1, 1},
    {"25.11", "8b", "b200", "fp8_mx", 8, 128, 2, 1, 1, 1, 1},
    {"25.11", "8b", "h100", "fp8_cs", 8, 128, 1, 1, 1, 1, 1, kFsdp},
    {"25.11", "70b", "h100", "fp8_cs", 64, 128, 1, 4, 8, 1, 5},
    {"25.11", "405b", "gb300", "fp8_cs", 256, 1536, 1, 2, 8, 2, 4},
    {"25.11", "405b", "b200", "fp8_cs", 128, 64, 1, 4, 8, 2, 8},
    {"25.11", "405b", "b200", "fp8_mx", 128, 64, 1, 4, 8, 2, 8},
    {"25.11", "405b", "h100", "fp8_cs", 1024, 512, 1, 8, 8, 2, 8},
    {"25.09", "70b", "gb200", "fp8_cs", 64, 128, 2, 1, 1, 1, 1, {.offloaded = 40, .is_fsdp = true}},
    {"25.09", "70b", "gb200", "fp8_mx", 64, 128, 1, 2, 4, 1, 5},
    {"25.09", "405b", "gb200", "fp8_cs", 128, 64, 1, 2, 1, 1, 1, {.offloaded = 92, .is_fsdp = true}},
    {"25.09", "405b", "gb200", "fp8_mx", 128, 64, 1, 4, 8, 2, 8},
    {"listed", "8b", "h100", "bf16", 8, 128, 1, 1, 1, 2, 1},
    {"listed", "8b", "h100", "fp8_cs", 8, 128, 1, 1, 1, 1, 1, {.recomputed = 5}},
    {"listed", "8b", "b200", "bf16", 8, 128, 2, 1, 1, 1, 1},
    {"listed", "8b", "b200", "nvfp4", 8, 128, 4, 1, 1, 1, 1},
    {"listed", "8b", "gb200", "bf16", 8, 128, 2, 1, 1, 1, 1},
    {"listed", "8b", "gb200", "nvfp4", 8, 128, 4, 1, 1, 1, 1},
    {"listed", "8b", "gb300", "bf16", 8, 128, 4, 1, 1, 1, 1},
    {"listed", "8b", "gb300", "fp8_mx", 8, 128, 4, 1, 1, 1, 1},
    {"listed", "70b", "h100", "bf16", 64, 128, 1, 4, 4, 2, 5},
    {"listed", "70b", "b200", "bf16", 64, 128, 1, 2, 4, 2, 5},
    {"listed", "70b", "b200", "fp8_cs", 64, 128, 1, 1, 1, 1, 1, {.offloaded = 5, .is_fsdp = true}},
    {"listed", "70b", "gb200", "bf16", 64, 128, 1, 1, 1, 1, 1, {.offloaded = 20, .is_fsdp = true}},
    {"listed", "70b", "gb300", "bf16", 64, 128, 2, 1, 1, 1, 1, {.offloaded = 30, .is_fsdp = true}},
    {"listed", "405b", "h100", "bf16", 1024, 512, 1, 8, 8, 2, 8},
    {"listed", "405b", "b200", "bf16", 128, 64, 1, 4, 8, 2, 8},
    {"listed", "405b", "gb200", "bf16", 256, 1536, 1, 4, 16, 1, 8},
    {"listed", "405b", "gb300", "bf16", 128, 64, 1, 2, 1, 1, 1, {.offloaded = 40, .is_fsdp = true}},
    {"listed", "405b", "gb300", "fp8_cs", 128, 64, 1, 2, 1, 1, 1, {.offloaded = 10, .is_fsdp = true}},
};

std::string precision_yaml(std::string_view precision) {
  static const std::map<std::string_view, std::string> kWords{
      {"bf16", "recipe: bf16_mixed"},
      {"fp8_cs", "recipe: bf16_with_fp8_current_scaling_mixed, first_last_layers_bf16: false"},
      {"fp8_mx", "recipe: bf16_with_mxfp8_mixed"},
      {"nvfp4", "recipe: bf16_with_nvfp4_mixed"}};
  return kWords.at(precision) + ", grad_reduce_in_fp32: false";
}

std::string userbuffers_yaml(const Recipe& r) {
  const std::string_view model = r.model;
  if (r.tp == 1 || std::string_view(r.precision) == "nvfp4") return "{tp_comm_overlap: false}";
  const bool is_h100 = std::string_view(r.gpu) == "h100";
  const std::string shape =
      model == "70b" ? (is_h100 ? "h8192_tp4" : "h8192_tp2") : (is_h100 ? "h16384_tp8_cp2" : "h16384_tp4_cp2");
  return fmt::format("{{tp_comm_overlap: true, tp_comm_overlap_cfg: userbuffers_{}_{}_{}_mbs1_seqlen8192}}",
                     std::string_view(r.precision) == "bf16" ? "bf16" : "fp8", is_h100 ? "h100" : "b200", shape);
}

std::string fsdp_yaml(const Recipe& r) {
  if (!r.more.is_fsdp) return "{use_distributed_optimizer: true}";
  return fmt::format(
      "{{use_megatron_fsdp: true, data_parallel_sharding_strategy: optim_grads_params, fsdp_double_buffer: {}}}",
      std::string_view(r.gpu) != "h100");
}

std::string yaml_of(const Recipe& r) {
  const std::string_view model = r.model;
  const int dp = r.gpus / (r.tp * r.pp * r.cp);
  std::string of_model = fmt::format(
      "preset: {}, seq_length: 8192, tensor_model_parallel_size: {}, sequence_parallel: {}, "
      "pipeline_model_parallel_size: {}, context_parallel_size: {}, cross_entropy_fusion_impl: te",
      model == "405b" ? "llama3.1-405b" : fmt::format("llama3-{}", model), r.tp, r.tp > 1, r.pp, r.cp);
  if (r.vp > 1) of_model += fmt::format(", virtual_pipeline_model_parallel_size: {}", r.vp);
  if (model == "405b" && r.pp > 1)
    of_model += ", account_for_embedding_in_pipeline_split: true, account_for_loss_in_pipeline_split: true";
  if (r.more.offloaded > 0)
    of_model += fmt::format(", cpu_offloading: true, cpu_offloading_num_layers: {}", r.more.offloaded);
  if (r.more.recomputed > 0)
    of_model += fmt::format(", recompute_granularity: full, recompute_method: block, recompute_num_layers: {}",
                            r.more.recomputed);
  return fmt::format(
      "model: {{{}}}\ndata_parallel_size: {}\ntrain: {{micro_batch_size: {}, global_batch_size: {}}}\n"
      "mixed_precision: {{{}}}\ncomm_overlap: {}\nddp: {}\nenvironment: {{gpu_arch: {}}}\n"
      "optimizer: {{use_precision_aware_optimizer: {}}}\n",
      of_model, dp, r.micro_batch, r.samples, precision_yaml(r.precision), userbuffers_yaml(r), fsdp_yaml(r), r.gpu,
      std::string_view(r.precision) == "bf16" && !r.more.is_fsdp);
}

/// The GB300 has no description yet: 284208 MiB in logs of nvidia-smi that were published.
double gpu_bytes(std::string_view gpu) {
  constexpr double kGb300 = 284208.0 * (1 << 20);
  if (gpu == "gb300") return kGb300;
  return sim::load_hardware(gpu == "h100" ? "h100-sxm" : std::string(gpu)).gpu.hbm_gb.value * 1e9;
}

std::string row_text(const Recipe& r, const plan::PeakMemory& peak) {
  const auto gb = [](std::int64_t bytes) { return double(bytes) / 1e9; };
  return fmt::format(
      "{:6}  {:4}  {:5}  {:6}  {:4} GPUs  mbs {}  tp {}  pp {:2}  cp {}  vp {}{:14}  {:5.1f} of {:5.1f} GB  {:5.1f} "
      "{:5.1f} "
      "{:5.1f} {:5.1f} {:5.1f} {:5.1f} {:5.1f}\n",
      r.release, r.model, r.gpu, r.precision, r.gpus, r.micro_batch, r.tp, r.pp, r.cp, r.vp,
      fmt::format("{}{}{}", r.more.is_fsdp ? " fsdp" : "",
                  r.more.offloaded > 0 ? fmt::format(" offload {}", r.more.offloaded) : "",
                  r.more.recomputed > 0 ? fmt::format(" recompute {}", r.more.recomputed) : ""),
      gb(peak.total()), gpu_bytes(r.gpu) / 1e9, gb(peak.parameters), gb(peak.gradients), gb(peak.optimizer),
      gb(peak.activations), gb(peak.userbuffers), gb(peak.exchange),
      gb(peak.workspaces + peak.communicators + peak.context));
}

TEST(PublishedMemory, EveryRecipeThatRanFitsItsGpu) {
  std::string text =
      "Predicted peak memory of recipes of Megatron-Bridge, and what the GPU has. Then in GB: parameters, gradients,\n"
      "optimizer, activations, userbuffers, exchange, and what libraries hold. \"listed\": no figure was "
      "published.\n\n";
  for (const Recipe& r : kRecipes) {
    const plan::PeakMemory peak = plan::plan_of(yaml_of(r)).peak_memory;
    const std::string row = row_text(r, peak);
    EXPECT_LE(double(peak.total()), gpu_bytes(r.gpu)) << row;
    text += row;
  }
  const std::filesystem::path file = UNDERLAP_SOURCE_DIR "/tests/data/memory/published_recipes.txt";
  if (std::getenv("UNDERLAP_UPDATE_GOLDEN") != nullptr) std::ofstream(file) << text;
  std::stringstream expected;
  expected << std::ifstream(file).rdbuf();
  EXPECT_EQ(text, expected.str()) << file << " is stale: UNDERLAP_UPDATE_GOLDEN=1 renews it";
}

}  // namespace
}  // namespace underlap
