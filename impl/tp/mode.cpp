// SPDX-License-Identifier: Apache-2.0
// Tensor parallelism, as the rest of the program asks for it.
#include "impl/device/mode_techniques.hpp"
#include "impl/plan/tensor_slots.hpp"
#include "impl/tp/technique.hpp"

namespace underlap::tp {
namespace {

using plan::TensorSlot;

std::vector<ListedTechnique> all() {
  return listed<GatherGemms, GemmScatters, CollectivesDuringGemm, WgradDrains>(Mode::tp);
}

template <class Kind>
TechniqueInEffect of_slot(TensorSlot slot, const plan::TensorSlotOverlap& overlap, bool reduces) {
  TechniqueInEffect technique = in_effect_of<Kind>(Mode::tp, overlap);
  technique.slot = slot;
  technique.reduces = reduces;
  return technique;
}

// As Linear has them. Without sequence parallelism nothing is gathered.
std::optional<TechniqueInEffect> technique_of(TensorSlot slot, const plan::Config& config) {
  using enum TensorSlot;
  const plan::TensorSlotOverlap& overlap = config.tensor_overlap[slot];
  const bool gathers = config.parallel.sequence_parallel;
  switch (plan::kind_of(slot)) {
    case plan::TensorSlotKind::gather_gemm:
      if (!gathers) return std::nullopt;
      return of_slot<GatherGemms>(slot, overlap, false);
    case plan::TensorSlotKind::gemm_scatter: return of_slot<GemmScatters>(slot, overlap, true);
    case plan::TensorSlotKind::column_dgrad:
      if (plan::splits_gemm(overlap.method)) return of_slot<GemmScatters>(slot, overlap, true);
      if (!gathers) return std::nullopt;
      return of_slot<CollectivesDuringGemm>(slot, overlap, false);
    case plan::TensorSlotKind::column_wgrad: break;
  }
  const TensorSlot dgrad = slot == qkv_wgrad ? qkv_dgrad : fc1_dgrad;
  return of_slot<CollectivesDuringGemm>(slot, overlap, !plan::splits_gemm(config.tensor_overlap[dgrad].method));
}

std::vector<TechniqueInEffect> in_effect(const plan::Config& config) {
  std::vector<TechniqueInEffect> techniques;
  for (std::size_t i = 0; config.parallel.tensor_model_parallel_size > 1 && i < plan::kNumTensorSlots; ++i)
    if (const auto technique = technique_of(static_cast<TensorSlot>(i), config)) techniques.push_back(*technique);
  return techniques;
}

// Purposes of a slot are its name and what it does: qkv_fprop_all_gather.
std::string beginning_of(TensorSlot slot) { return std::string(plan::kTensorSlotNames[slot]) + "_"; }

std::vector<OverlapSwitch> switches(const plan::Plan& plan) {
  const plan::Config& config = plan.config;
  const std::int64_t ranks = config.parallel.tensor_model_parallel_size;
  OverlapSwitch whole = switch_of("comm_overlap.tp_comm_overlap", plan, ranks, {});
  whole.is_foreign = [](const Tag&) { return true; };
  std::vector<OverlapSwitch> slots;
  for (std::size_t i = 0; i < plan::kNumTensorSlots; ++i) {
    const auto slot = static_cast<TensorSlot>(i);
    const auto technique = ranks > 1 ? technique_of(slot, config) : std::nullopt;
    whole.purposes.push_back(beginning_of(slot));
    slots.push_back({.knob = std::string(plan::kTensorSlotPaths[i]),
                     .effective = std::string(plan::kTensorMethodNames[config.tensor_overlap[slot].method]),
                     .is_on = technique && technique->facts->overlaps,
                     .group_size = ranks,
                     .purposes = {beginning_of(slot)}});
  }
  std::vector<OverlapSwitch> switches{whole,
                                      switch_of("comm_overlap.defer_embedding_wgrad_compute", plan, ranks, all())};
  switches.insert(switches.end(), slots.begin(), slots.end());
  return switches;
}

const RegisterMode kRegister{{Mode::tp, all, in_effect, switches}};

}  // namespace
}  // namespace underlap::tp
