// SPDX-License-Identifier: Apache-2.0
// The presets of Megatron-Bridge for tp_comm_overlap_cfg, as of 2026-08-22: name, precision, accelerator, hidden size,
// TP, CP, micro-batch, sequence length, and the slots in the order of TensorSlot. An empty slot is null there, and so
// Transformer Engine's default.
#include "impl/plan/userbuffers.hpp"

#include <algorithm>

namespace underlap::plan {
namespace {

TensorSlotRequest ring(bool aggregate, int cga_size, bool set_sm_margin, bool fp8_buf) {
  return {{"method", "ring_exchange"}, {"aggregate", aggregate},         {"num_sm", 1},
          {"cga_size", cga_size},      {"set_sm_margin", set_sm_margin}, {"fp8_buf", fp8_buf}};
}

TensorSlotRequest bulk(int num_sm) {
  return {{"method", "bulk"}, {"num_sm", num_sm}, {"cga_size", 2}, {"set_sm_margin", false}};
}

/// Four splits. Without `fp8_buf` the field is left at the tuple that counts as true.
TensorSlotRequest pipeline(int num_sm, bool fp8_buf = false) {
  return {{"method", "pipeline"},  {"num_sm", num_sm}, {"cga_size", 2},
          {"set_sm_margin", true}, {"num_splits", 4},  {"fp8_buf", fp8_buf ? Value(true) : Value(ValueList{false})}};
}

template <class... Requests>
TensorRequests slots(const Requests&... requests) {
  static_assert(sizeof...(requests) == kNumTensorSlots);
  return {requests...};
}

std::vector<UserbuffersPreset> make_presets() {
  const TensorSlotRequest unset;
  const TensorSlotRequest plain = ring(false, 1, false, false);
  const TensorSlotRequest margin = ring(false, 1, true, false);
  const TensorSlotRequest fp8 = ring(false, 2, true, true);
  const TensorSlotRequest twice = ring(true, 1, false, false);
  return {
      {"userbuffers_bf16_h100_h8192_tp4_mbs1_seqlen8192", "bf16", "h100", 8192, 4, 1, 1, 8192,
       slots(plain, bulk(4), bulk(24), pipeline(24), plain, plain, bulk(2), bulk(4), pipeline(16), plain)},
      {"userbuffers_fp8_h100_h8192_tp4_mbs1_seqlen8192", "fp8", "h100", 8192, 4, 1, 1, 8192,
       slots(plain, bulk(4), bulk(24), margin, plain, plain, bulk(2), bulk(4), margin, plain)},
      {"userbuffers_bf16_b200_h8192_tp2_mbs1_seqlen8192", "bf16", "b200", 8192, 2, 1, 1, 8192,
       slots(plain, bulk(16), bulk(24), pipeline(32), plain, plain, bulk(2), bulk(4), pipeline(16), plain)},
      {"userbuffers_fp8_b200_h8192_tp2_mbs1_seqlen8192", "fp8", "b200", 8192, 2, 1, 1, 8192,
       slots(plain, bulk(4), bulk(24), margin, plain, plain, bulk(2), bulk(4), margin, plain)},
      {"userbuffers_bf16_h100_h16384_tp8_cp2_mbs1_seqlen8192", "bf16", "h100", 16384, 8, 2, 1, 8192,
       slots(plain, bulk(2), bulk(24), pipeline(24), plain, plain, bulk(2), bulk(2), pipeline(8), plain)},
      {"userbuffers_fp8_h100_h16384_tp8_cp2_mbs1_seqlen8192", "fp8", "h100", 16384, 8, 2, 1, 8192,
       slots(plain, bulk(2), bulk(24), margin, plain, plain, bulk(2), bulk(2), margin, plain)},
      {"userbuffers_bf16_b200_h16384_tp4_cp2_mbs1_seqlen8192", "bf16", "b200", 16384, 4, 2, 1, 8192,
       slots(plain, bulk(8), bulk(24), pipeline(32), plain, plain, bulk(2), bulk(2), pipeline(8), plain)},
      {"userbuffers_fp8_b200_h16384_tp4_cp2_mbs1_seqlen8192", "fp8", "b200", 16384, 4, 2, 1, 8192,
       slots(plain, bulk(8), bulk(32), margin, plain, plain, bulk(2), bulk(8), margin, plain)},
      {"userbuffers_fp8_h100_h8192_tp2_mbs1_seqlen4096_lora", "fp8", "h100", 8192, 2, 1, 1, 4096,
       slots(margin, bulk(2), unset, fp8, margin, margin, pipeline(16, true), unset, fp8, margin)},
      {"userbuffers_fp8_h100_h16384_tp4_mbs1_seqlen2048_lora", "fp8", "h100", 16384, 4, 1, 1, 2048,
       slots(twice, bulk(2), unset, pipeline(32, true), twice, twice, pipeline(16, true), unset, pipeline(16, true),
             twice)},
      {"userbuffers_bf16_h100_h6144_tp2_mbs2_seqlen2048", "bf16", "h100", 6144, 2, 1, 2, 2048,
       slots(plain, bulk(8), bulk(16), pipeline(16), plain, plain, bulk(4), bulk(16), pipeline(24), plain)},
      {"userbuffers_fp8_h100_h6144_tp2_mbs2_seqlen2048", "fp8", "h100", 6144, 2, 1, 2, 2048,
       slots(plain, bulk(8), bulk(16), pipeline(16, true), plain, plain, bulk(4), bulk(16), pipeline(24, true), plain)},
      {"userbuffers_bf16_h100_h12288_tp4_mbs1_seqlen2048", "bf16", "h100", 12288, 4, 1, 1, 2048,
       slots(plain, bulk(4), bulk(4), pipeline(24), plain, plain, bulk(2), bulk(4), margin, plain)},
      {"userbuffers_fp8_h100_h12288_tp4_mbs1_seqlen2048", "fp8", "h100", 12288, 4, 1, 1, 2048,
       slots(plain, bulk(4), bulk(4), margin, plain, plain, bulk(2), bulk(4), margin, plain)},
      {"userbuffers_bf16_b200_h12288_tp4_mbs1_seqlen2048", "bf16", "b200", 12288, 4, 1, 1, 2048,
       slots(plain, bulk(4), bulk(16), margin, plain, plain, bulk(2), bulk(8), margin, plain)},
      {"userbuffers_fp8_b200_h12288_tp4_mbs1_seqlen2048", "fp8", "b200", 12288, 4, 1, 1, 2048,
       slots(plain, bulk(4), bulk(16), margin, plain, plain, bulk(2), bulk(8), margin, plain)},
      {"userbuffers_bf16_b200_h6144_tp2_mbs1_seqlen4096", "bf16", "b200", 6144, 2, 1, 1, 4096,
       slots(plain, bulk(8), bulk(32), margin, plain, plain, bulk(2), bulk(8), margin, plain)},
      {"userbuffers_bf16_b200_h18432_tp8_mbs1_seqlen4096", "bf16", "b200", 18432, 8, 1, 1, 4096,
       slots(plain, bulk(8), bulk(32), margin, plain, plain, bulk(2), bulk(8), pipeline(24), plain)},
      {"userbuffers_fp8_b200_h18432_tp8_mbs1_seqlen4096", "fp8", "b200", 18432, 8, 1, 1, 4096,
       slots(plain, bulk(8), bulk(32), margin, plain, plain, bulk(2), bulk(8), margin, plain)},
  };
}

const std::vector<UserbuffersPreset>& userbuffers_presets() {
  static const std::vector<UserbuffersPreset> instance = make_presets();
  return instance;
}

}  // namespace

std::optional<UserbuffersPreset> find_userbuffers_preset(std::string_view name) {
  const auto found = std::ranges::find(userbuffers_presets(), name, &UserbuffersPreset::name);
  return found == userbuffers_presets().end() ? std::nullopt : std::optional(*found);
}

std::vector<std::string_view> userbuffers_preset_names() {
  std::vector<std::string_view> names;
  for (const UserbuffersPreset& preset : userbuffers_presets()) names.push_back(preset.name);
  return names;
}

int architecture_of(std::string_view arch) {
  if (arch.starts_with("b") || arch.starts_with("gb")) return 100;
  return arch.starts_with("h") ? 90 : 80;
}

}  // namespace underlap::plan
