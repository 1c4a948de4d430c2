// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/impl/plan/plan_testing.hpp"

namespace underlap::plan {

inline const std::string kTensorOverlapOn = "comm_overlap: {tp_comm_overlap: true}\n";
inline const std::string kCfg = "comm_overlap.tp_comm_overlap_cfg";
inline const std::string kFp8 = "mixed_precision: bf16_with_fp8_current_scaling_mixed\n";

/// Overlap of tensor-parallel communication with `cfg`, a mapping of slots.
inline std::string with_cfg(const std::string& cfg) {
  return "comm_overlap: {tp_comm_overlap: true, tp_comm_overlap_cfg: " + cfg + "}\n";
}

/// Llama 3 70B on `ranks` tensor-parallel ranks, with more of the section `model`.
inline std::string llama(int ranks, const std::string& model = "") {
  return "model: {preset: llama3-70b, tensor_model_parallel_size: " + std::to_string(ranks) +
         ", sequence_parallel: true" + model + "}\n";
}
inline const std::string kLlamaPreset = "userbuffers_bf16_h100_h8192_tp4_mbs1_seqlen8192";

/// A model of 256 hidden on four TP ranks, with more of the section `model` and more sections.
inline std::string tp4(const std::string& rest, const std::string& model = "") {
  return "model: {preset: tiny, hidden_size: 256, num_query_groups: 4, tensor_model_parallel_size: 4, "
         "sequence_parallel: true" +
         (model.empty() ? "" : ", " + model) + "}\n" + rest;
}

inline TensorSlotOverlap slot_of(const std::string& yaml, TensorSlot slot) {
  return plan_of(yaml).config.tensor_overlap[slot];
}

/// "effective method, source" of a slot.
inline std::string slot_outcome(const Plan& plan, const std::string& slot) {
  const Knob knob = knob_of(plan, kCfg + "." + slot);
  return std::get<std::string>(*find(knob.effective, "method")) + " " + knob.source;
}

}  // namespace underlap::plan
