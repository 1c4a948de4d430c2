// SPDX-License-Identifier: Apache-2.0
// The presets of Megatron-Bridge for tp_comm_overlap_cfg, as of 2026-08-22: name, precision, accelerator, hidden size,
// TP, CP, micro-batch, sequence length, and the slots in the order of TensorSlot. An empty slot is null there, and so
// Transformer Engine's default.
#include "impl/plan/userbuffers.hpp"

#include <algorithm>
#include <array>

namespace underlap::plan {
namespace {

constexpr TensorSlotRequest ring(bool aggregate, int cga_size, bool set_sm_margin, bool fp8_buf) {
  return {.method = TensorMethod::ring_exchange,
          .aggregate = aggregate,
          .num_sm = 1,
          .cga_size = cga_size,
          .set_sm_margin = set_sm_margin,
          .fp8_buf = fp8_buf};
}
constexpr TensorSlotRequest kRing = ring(false, 1, false, false);
constexpr TensorSlotRequest kRingMargin = ring(false, 1, true, false);
constexpr TensorSlotRequest kRingFp8 = ring(false, 2, true, true);
constexpr TensorSlotRequest kDouble = ring(true, 1, false, false);

constexpr TensorSlotRequest bulk(int num_sm) {
  return {.method = TensorMethod::bulk, .num_sm = num_sm, .cga_size = 2, .set_sm_margin = false};
}

/// Four splits. Without `fp8_buf` the field is left at the tuple that counts as true.
constexpr TensorSlotRequest pipeline(int num_sm, bool fp8_buf = false) {
  return {.method = TensorMethod::pipeline,
          .num_sm = num_sm,
          .cga_size = 2,
          .set_sm_margin = true,
          .num_splits = 4,
          .fp8_buf = true,
          .fp8_buf_is_tuple = !fp8_buf};
}

template <class... Requests>
constexpr TensorRequests slots(const Requests&... requests) {
  static_assert(sizeof...(requests) == kNumTensorSlots);
  return {requests...};
}

constexpr TensorSlotRequest kUnset;

constexpr auto kUserbuffersPresets = std::to_array<UserbuffersPreset>({
    {"userbuffers_bf16_h100_h8192_tp4_mbs1_seqlen8192", "bf16", "h100", 8192, 4, 1, 1, 8192,
     slots(kRing, bulk(4), bulk(24), pipeline(24), kRing, kRing, bulk(2), bulk(4), pipeline(16), kRing)},
    {"userbuffers_fp8_h100_h8192_tp4_mbs1_seqlen8192", "fp8", "h100", 8192, 4, 1, 1, 8192,
     slots(kRing, bulk(4), bulk(24), kRingMargin, kRing, kRing, bulk(2), bulk(4), kRingMargin, kRing)},
    {"userbuffers_bf16_b200_h8192_tp2_mbs1_seqlen8192", "bf16", "b200", 8192, 2, 1, 1, 8192,
     slots(kRing, bulk(16), bulk(24), pipeline(32), kRing, kRing, bulk(2), bulk(4), pipeline(16), kRing)},
    {"userbuffers_fp8_b200_h8192_tp2_mbs1_seqlen8192", "fp8", "b200", 8192, 2, 1, 1, 8192,
     slots(kRing, bulk(4), bulk(24), kRingMargin, kRing, kRing, bulk(2), bulk(4), kRingMargin, kRing)},
    {"userbuffers_bf16_h100_h16384_tp8_cp2_mbs1_seqlen8192", "bf16", "h100", 16384, 8, 2, 1, 8192,
     slots(kRing, bulk(2), bulk(24), pipeline(24), kRing, kRing, bulk(2), bulk(2), pipeline(8), kRing)},
    {"userbuffers_fp8_h100_h16384_tp8_cp2_mbs1_seqlen8192", "fp8", "h100", 16384, 8, 2, 1, 8192,
     slots(kRing, bulk(2), bulk(24), kRingMargin, kRing, kRing, bulk(2), bulk(2), kRingMargin, kRing)},
    {"userbuffers_bf16_b200_h16384_tp4_cp2_mbs1_seqlen8192", "bf16", "b200", 16384, 4, 2, 1, 8192,
     slots(kRing, bulk(8), bulk(24), pipeline(32), kRing, kRing, bulk(2), bulk(2), pipeline(8), kRing)},
    {"userbuffers_fp8_b200_h16384_tp4_cp2_mbs1_seqlen8192", "fp8", "b200", 16384, 4, 2, 1, 8192,
     slots(kRing, bulk(8), bulk(32), kRingMargin, kRing, kRing, bulk(2), bulk(8), kRingMargin, kRing)},
    {"userbuffers_fp8_h100_h8192_tp2_mbs1_seqlen4096_lora", "fp8", "h100", 8192, 2, 1, 1, 4096,
     slots(kRingMargin, bulk(2), kUnset, kRingFp8, kRingMargin, kRingMargin, pipeline(16, true), kUnset, kRingFp8,
           kRingMargin)},
    {"userbuffers_fp8_h100_h16384_tp4_mbs1_seqlen2048_lora", "fp8", "h100", 16384, 4, 1, 1, 2048,
     slots(kDouble, bulk(2), kUnset, pipeline(32, true), kDouble, kDouble, pipeline(16, true), kUnset,
           pipeline(16, true), kDouble)},
    {"userbuffers_bf16_h100_h6144_tp2_mbs2_seqlen2048", "bf16", "h100", 6144, 2, 1, 2, 2048,
     slots(kRing, bulk(8), bulk(16), pipeline(16), kRing, kRing, bulk(4), bulk(16), pipeline(24), kRing)},
    {"userbuffers_fp8_h100_h6144_tp2_mbs2_seqlen2048", "fp8", "h100", 6144, 2, 1, 2, 2048,
     slots(kRing, bulk(8), bulk(16), pipeline(16, true), kRing, kRing, bulk(4), bulk(16), pipeline(24, true), kRing)},
    {"userbuffers_bf16_h100_h12288_tp4_mbs1_seqlen2048", "bf16", "h100", 12288, 4, 1, 1, 2048,
     slots(kRing, bulk(4), bulk(4), pipeline(24), kRing, kRing, bulk(2), bulk(4), kRingMargin, kRing)},
    {"userbuffers_fp8_h100_h12288_tp4_mbs1_seqlen2048", "fp8", "h100", 12288, 4, 1, 1, 2048,
     slots(kRing, bulk(4), bulk(4), kRingMargin, kRing, kRing, bulk(2), bulk(4), kRingMargin, kRing)},
    {"userbuffers_bf16_b200_h12288_tp4_mbs1_seqlen2048", "bf16", "b200", 12288, 4, 1, 1, 2048,
     slots(kRing, bulk(4), bulk(16), kRingMargin, kRing, kRing, bulk(2), bulk(8), kRingMargin, kRing)},
    {"userbuffers_fp8_b200_h12288_tp4_mbs1_seqlen2048", "fp8", "b200", 12288, 4, 1, 1, 2048,
     slots(kRing, bulk(4), bulk(16), kRingMargin, kRing, kRing, bulk(2), bulk(8), kRingMargin, kRing)},
    {"userbuffers_bf16_b200_h6144_tp2_mbs1_seqlen4096", "bf16", "b200", 6144, 2, 1, 1, 4096,
     slots(kRing, bulk(8), bulk(32), kRingMargin, kRing, kRing, bulk(2), bulk(8), kRingMargin, kRing)},
    {"userbuffers_bf16_b200_h18432_tp8_mbs1_seqlen4096", "bf16", "b200", 18432, 8, 1, 1, 4096,
     slots(kRing, bulk(8), bulk(32), kRingMargin, kRing, kRing, bulk(2), bulk(8), pipeline(24), kRing)},
    {"userbuffers_fp8_b200_h18432_tp8_mbs1_seqlen4096", "fp8", "b200", 18432, 8, 1, 1, 4096,
     slots(kRing, bulk(8), bulk(32), kRingMargin, kRing, kRing, bulk(2), bulk(8), kRingMargin, kRing)},
});

}  // namespace

std::optional<UserbuffersPreset> find_userbuffers_preset(std::string_view name) {
  const auto* found = std::find_if(kUserbuffersPresets.begin(), kUserbuffersPresets.end(),
                                   [&](const UserbuffersPreset& p) { return p.name == name; });
  return found == kUserbuffersPresets.end() ? std::nullopt : std::optional(*found);
}

std::vector<std::string_view> userbuffers_preset_names() {
  std::vector<std::string_view> names;
  for (const UserbuffersPreset& preset : kUserbuffersPresets) names.push_back(preset.name);
  return names;
}

int architecture_of(std::string_view arch) {
  if (arch.starts_with("b") || arch.starts_with("gb")) return 100;
  return arch.starts_with("h") ? 90 : 80;
}

}  // namespace underlap::plan
