// SPDX-License-Identifier: Apache-2.0
// The presets of Megatron-Bridge for tp_comm_overlap_cfg, as of 2026-08-22: name, precision, accelerator, hidden size,
// TP, CP, micro-batch, sequence length.
#include "impl/plan/userbuffers.hpp"

#include <algorithm>
#include <array>

namespace underlap::plan {
namespace {

constexpr auto kPresets = std::to_array<UserbuffersPreset>({
    {"userbuffers_bf16_h100_h8192_tp4_mbs1_seqlen8192", "bf16", "h100", 8192, 4, 1, 1, 8192},
    {"userbuffers_fp8_h100_h8192_tp4_mbs1_seqlen8192", "fp8", "h100", 8192, 4, 1, 1, 8192},
    {"userbuffers_bf16_b200_h8192_tp2_mbs1_seqlen8192", "bf16", "b200", 8192, 2, 1, 1, 8192},
    {"userbuffers_fp8_b200_h8192_tp2_mbs1_seqlen8192", "fp8", "b200", 8192, 2, 1, 1, 8192},
    {"userbuffers_bf16_h100_h16384_tp8_cp2_mbs1_seqlen8192", "bf16", "h100", 16384, 8, 2, 1, 8192},
    {"userbuffers_fp8_h100_h16384_tp8_cp2_mbs1_seqlen8192", "fp8", "h100", 16384, 8, 2, 1, 8192},
    {"userbuffers_bf16_b200_h16384_tp4_cp2_mbs1_seqlen8192", "bf16", "b200", 16384, 4, 2, 1, 8192},
    {"userbuffers_fp8_b200_h16384_tp4_cp2_mbs1_seqlen8192", "fp8", "b200", 16384, 4, 2, 1, 8192},
    {"userbuffers_fp8_h100_h8192_tp2_mbs1_seqlen4096_lora", "fp8", "h100", 8192, 2, 1, 1, 4096},
    {"userbuffers_fp8_h100_h16384_tp4_mbs1_seqlen2048_lora", "fp8", "h100", 16384, 4, 1, 1, 2048},
    {"userbuffers_bf16_h100_h6144_tp2_mbs2_seqlen2048", "bf16", "h100", 6144, 2, 1, 2, 2048},
    {"userbuffers_fp8_h100_h6144_tp2_mbs2_seqlen2048", "fp8", "h100", 6144, 2, 1, 2, 2048},
    {"userbuffers_bf16_h100_h12288_tp4_mbs1_seqlen2048", "bf16", "h100", 12288, 4, 1, 1, 2048},
    {"userbuffers_fp8_h100_h12288_tp4_mbs1_seqlen2048", "fp8", "h100", 12288, 4, 1, 1, 2048},
    {"userbuffers_bf16_b200_h12288_tp4_mbs1_seqlen2048", "bf16", "b200", 12288, 4, 1, 1, 2048},
    {"userbuffers_fp8_b200_h12288_tp4_mbs1_seqlen2048", "fp8", "b200", 12288, 4, 1, 1, 2048},
    {"userbuffers_bf16_b200_h6144_tp2_mbs1_seqlen4096", "bf16", "b200", 6144, 2, 1, 1, 4096},
    {"userbuffers_bf16_b200_h18432_tp8_mbs1_seqlen4096", "bf16", "b200", 18432, 8, 1, 1, 4096},
    {"userbuffers_fp8_b200_h18432_tp8_mbs1_seqlen4096", "fp8", "b200", 18432, 8, 1, 1, 4096},
});

}  // namespace

std::optional<UserbuffersPreset> find_userbuffers_preset(std::string_view name) {
  const auto* found =
      std::find_if(kPresets.begin(), kPresets.end(), [&](const UserbuffersPreset& p) { return p.name == name; });
  return found == kPresets.end() ? std::nullopt : std::optional(*found);
}

std::vector<std::string_view> userbuffers_preset_names() {
  std::vector<std::string_view> names;
  for (const UserbuffersPreset& preset : kPresets) names.push_back(preset.name);
  return names;
}

int architecture_of(std::string_view arch) {
  if (arch.starts_with("b") || arch.starts_with("gb")) return 100;
  return arch.starts_with("h") ? 90 : 80;
}

}  // namespace underlap::plan
