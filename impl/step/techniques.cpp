// SPDX-License-Identifier: Apache-2.0
#include "impl/step/techniques.hpp"

#include <algorithm>

#include "impl/cp/attention.hpp"
#include "impl/dp/technique.hpp"
#include "impl/plan/tensor_slots.hpp"
#include "impl/pp/technique.hpp"
#include "impl/tp/technique.hpp"

namespace underlap {
namespace {

template <class Techniques>
void append_all(Mode mode, std::vector<ListedTechnique>& all) {
  for (const auto& technique : Techniques::all())
    all.push_back({mode, technique.name, technique.summary, technique.exposed, &technique.facts});
}

template <class Techniques, class Choice>
TechniqueInEffect in_effect(Mode mode, const Choice& choice) {
  const auto& technique = Techniques::in_effect(choice);
  return {.mode = mode, .name = technique.name, .facts = &technique.facts};
}

template <class Techniques>
TechniqueInEffect of_slot(plan::TensorSlot slot, const plan::TensorSlotOverlap& overlap, bool reduces) {
  TechniqueInEffect technique = in_effect<Techniques>(Mode::tp, overlap);
  technique.slot = slot;
  technique.reduces = reduces;
  return technique;
}

// As tp::Linear has them. Without sequence parallelism nothing is gathered.
std::optional<TechniqueInEffect> technique_of(plan::TensorSlot slot, const plan::Config& config) {
  using enum plan::TensorSlot;
  const plan::TensorSlotOverlap& overlap = config.tensor_overlap[slot];
  const bool gathers = config.parallel.sequence_parallel;
  switch (plan::kind_of(slot)) {
    case plan::TensorSlotKind::gather_gemm:
      if (!gathers) return std::nullopt;
      return of_slot<tp::GatherGemms>(slot, overlap, false);
    case plan::TensorSlotKind::gemm_scatter: return of_slot<tp::GemmScatters>(slot, overlap, true);
    case plan::TensorSlotKind::column_dgrad:
      if (plan::splits_gemm(overlap.method)) return of_slot<tp::GemmScatters>(slot, overlap, true);
      if (!gathers) return std::nullopt;
      return of_slot<tp::CollectivesBesideGemm>(slot, overlap, false);
    case plan::TensorSlotKind::column_wgrad: break;
  }
  const plan::TensorSlot dgrad = slot == qkv_wgrad ? qkv_dgrad : fc1_dgrad;
  return of_slot<tp::CollectivesBesideGemm>(slot, overlap, !plan::splits_gemm(config.tensor_overlap[dgrad].method));
}

void append_attentions(const plan::Config& config, std::vector<TechniqueInEffect>& techniques) {
  std::vector<plan::CpCommType> types = config.context.cp_comm_type;
  std::sort(types.begin(), types.end());
  types.erase(std::unique(types.begin(), types.end()), types.end());
  for (const plan::CpCommType type : types)
    techniques.push_back(
        in_effect<cp::Attentions>(Mode::cp, cp::choice_of(config, config.parallel.context_parallel_size, type)));
}

}  // namespace

std::vector<ListedTechnique> all_techniques() {
  std::vector<ListedTechnique> all;
  append_all<dp::GradReduces>(Mode::dp, all);
  append_all<dp::ParamGathers>(Mode::dp, all);
  append_all<tp::GatherGemms>(Mode::tp, all);
  append_all<tp::GemmScatters>(Mode::tp, all);
  append_all<tp::CollectivesBesideGemm>(Mode::tp, all);
  append_all<tp::WgradDrains>(Mode::tp, all);
  append_all<pp::Pipelines>(Mode::pp, all);
  append_all<cp::Attentions>(Mode::cp, all);
  return all;
}

bool is_of_knob(std::string_view knob, const Tag& tag) {
  static const std::vector<ListedTechnique> kAll = all_techniques();
  const std::string_view purpose = name_of(tag.purpose);
  return std::ranges::any_of(kAll, [&](const ListedTechnique& technique) {
    return technique.facts->knob == knob && technique.mode == tag.mode &&
           std::ranges::any_of(technique.facts->purposes,
                               [&](std::string_view beginning) { return purpose.starts_with(beginning); });
  });
}

std::vector<TechniqueInEffect> techniques_in_effect(const plan::Config& config) {
  const plan::ParallelConfig& parallel = config.parallel;
  std::vector<TechniqueInEffect> techniques;
  if (parallel.data_parallel_size * parallel.context_parallel_size > 1) {
    techniques.push_back(in_effect<dp::GradReduces>(Mode::dp, config));
    techniques.back().reduces = true;
    techniques.push_back(in_effect<dp::ParamGathers>(Mode::dp, config));
  }
  for (std::size_t i = 0; parallel.tensor_model_parallel_size > 1 && i < plan::kNumTensorSlots; ++i)
    if (const auto technique = technique_of(static_cast<plan::TensorSlot>(i), config)) techniques.push_back(*technique);
  if (parallel.context_parallel_size > 1) append_attentions(config, techniques);
  if (parallel.pipeline_model_parallel_size > 1) techniques.push_back(in_effect<pp::Pipelines>(Mode::pp, config));
  return techniques;
}

}  // namespace underlap
