// SPDX-License-Identifier: Apache-2.0
#include "impl/plan/config.hpp"
#include "impl/plan/modes/mode_rules.hpp"
#include "impl/plan/tensor_slots.hpp"
#include "impl/plan/userbuffers.hpp"

namespace underlap::plan {
namespace {

constexpr const char* kOverlap = "comm_overlap.tp_comm_overlap";

// Tensor parallelism stays in a node. Its collectives, two a layer and direction, are too slow across the network.
bool tensor_ranks_are_worth_trying(const ModelConfig& model, const ParallelConfig& /*parallel*/, std::int64_t size,
                                   const SearchedMachine& machine) {
  return size <= machine.gpus_per_node && model.num_attention_heads % size == 0;
}

/// Published presets for this layer and GPU; the first is none.
std::vector<std::string> presets(const Config& layout) {
  std::vector<std::string> names{""};
  for (const std::string_view name : userbuffers_preset_names())
    if (const auto preset = find_userbuffers_preset(name);
        preset && preset->hidden_size == layout.model.hidden_size &&
        preset->tp == layout.parallel.tensor_model_parallel_size &&
        architecture_of(preset->arch) == architecture_of(layout.environment.gpu_arch))
      names.emplace_back(name);
  return names;
}

std::vector<std::string> settings_of(TensorSlotKind kind) {
  switch (kind) {
    case TensorSlotKind::gather_gemm:
      return {"", "{method: ring_exchange, aggregate: true}", "{method: ring_exchange, aggregate: false}"};
    case TensorSlotKind::gemm_scatter:
      return {"", "{method: ring_exchange}", "{method: pipeline, num_sm: 8, num_splits: 4}",
              "{method: pipeline, num_sm: 24, num_splits: 4, set_sm_margin: true}"};
    default: return {"", "{method: bulk, num_sm: 2}", "{method: bulk, num_sm: 8}", "{method: bulk, num_sm: 24}"};
  }
}

std::vector<SearchAxis> tensor_axes(const Config& layout, const IsOpen& is_open) {
  if (!layout.parallel.sequence_parallel || !(is_open(kOverlap) || uses_userbuffers(layout.tensor_overlap))) return {};
  std::vector<SearchAxis> axes{{kOverlap, {"true", "false"}}, {"comm_overlap.tp_comm_overlap_cfg", presets(layout)}};
  for (std::size_t i = 0; i < kNumTensorSlots; ++i)
    axes.push_back({std::string(kTensorSlotPaths[i]), settings_of(kind_of(static_cast<TensorSlot>(i)))});
  return axes;
}

}  // namespace

ModeRules tensor_rules() {
  return {.mode = Mode::tp,
          .word = "tensor",
          .sizes = {{.knob = "model.tensor_model_parallel_size",
                     .letters = "TP",
                     .field = &ParallelConfig::tensor_model_parallel_size,
                     .is_worth_trying = tensor_ranks_are_worth_trying}},
          .dense_digit = 0,
          .expert_digit = 0,
          .shares = {Shared::weights, Shared::tables, Shared::heads},
          .size_details = [](const ParallelConfig& p) -> std::string {
            return p.sequence_parallel ? " with sequence parallelism" : "";
          },
          .chosen_with = [](const ModelConfig& /*model*/,
                            const ParallelConfig& p) -> std::vector<std::pair<std::string, std::string>> {
            return {{"model.sequence_parallel", p.tensor_model_parallel_size > 1 ? "true" : "false"}};
          },
          .axes = tensor_axes,
          .switches = {{"tp_comm_overlap",
                        [](const Config& c) { return uses_userbuffers(c.tensor_overlap); },
                        {{kOverlap, "false"}}}}};
}

}  // namespace underlap::plan
