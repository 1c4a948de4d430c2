// SPDX-License-Identifier: Apache-2.0
// Settings that a plan supports and `run` of this version does not.
#include <fmt/format.h>

#include "impl/plan/modes/mode_rules.hpp"
#include "impl/plan/precision.hpp"
#include "impl/plan/rules/resolution.hpp"
#include "impl/plan/schema/paths.hpp"
#include "impl/plan/tensor_slots.hpp"

namespace underlap::plan {
namespace {

/// GPUs multiply in fp8 in whole groups of 16 along the summed dimension and of 8 along the others.
void refuse_fp8_sizes(Resolution& r) {
  constexpr std::string_view kHidden = "model.hidden_size";
  const ModelConfig& m = r.config().model;
  const std::int64_t tp = ranks_sharing(Shared::weights, r.config().parallel);
  if (m.num_layers < 3 || m.num_attention_heads < 1) return;  // no layer but the first and the last
  const auto refuse = [&](std::string_view path, std::string_view what, std::int64_t size, std::int64_t multiple) {
    if (size % multiple != 0)
      r.not_run({path, kTp},
                fmt::format("{} {}: fp8 GEMMs need a multiple of {}; change {}", size, what, multiple, path));
  };
  const std::int64_t tokens =
      r.config().train.micro_batch_size * m.seq_length / ranks_sharing(Shared::tokens, r.config().parallel);
  refuse("model.seq_length", "tokens per microbatch", tokens, 16);
  if (tp > 1 && r.config().parallel.sequence_parallel)
    refuse("model.seq_length", "tokens per tensor-parallel rank", tokens / tp, 8);
  refuse(kHidden, "hidden features", m.hidden_size, 16);
  refuse(kHidden, "attention features per rank", m.num_attention_heads * m.head_size() / tp, 16);
  refuse("model.num_query_groups", "key and value features per rank", 2 * m.num_query_groups * m.head_size() / tp, 16);
  for (std::size_t i = 0; i < kNumTensorSlots; ++i) {
    const TensorSlotOverlap& overlap = r.config().tensor_overlap.slots[i];
    if (overlap.method == TensorMethod::pipeline && overlap.num_splits > 0)
      refuse(kTensorSlotPaths[i], "features per split", m.hidden_size / overlap.num_splits, 8);
  }
  refuse("model.ffn_hidden_size", "feed-forward features per rank", m.ffn_hidden_size / tp, 16);
}

void refuse_choices(Resolution& r) {
  const Config& c = r.config();
  const std::string& recipe = c.mixed_precision.recipe;
  const bool runs_in_fp8 = recipe == "bf16_with_fp8_current_scaling_mixed";
  if (recipe != "bf16_mixed" && !runs_in_fp8)
    r.not_run({"mixed_precision.recipe"},
              fmt::format("recipe {} is planned but not run by this version; bf16_mixed and "
                          "bf16_with_fp8_current_scaling_mixed are",
                          recipe));
  // The one architecture of a plan below compute capability 8.9.
  if (c.environment.gpu_arch == "a100" && is_fp8(scaling_of(recipe)))
    r.not_run(
        {"mixed_precision.recipe", "environment.gpu_arch"},
        fmt::format("recipe {} uses fp8, which environment.gpu_arch a100 does not have; change one of them", recipe));
  if (c.model.is_rotary() && c.model.position_embedding_type != PositionEmbedding::rope)
    r.not_run({"model.position_embedding_type"},
              "this version does not compute the angles of position_embedding_type yarn and mrope; rope rotates as "
              "many features in the same time");
  if (runs_in_fp8) refuse_fp8_sizes(r);
}

void refuse_known_names(Resolution& r) {
  for (std::size_t i = 0; i < rows().size(); ++i) {
    const Row& row = rows()[i];
    const Setting& setting = r.settings[i];
    if (row.status != Status::known || setting.state != Setting::State::given || !in_scope(row.scope, r)) continue;
    if (setting.value == fallback(i)) continue;
    r.not_run({row.path}, fmt::format("{} is recognized but not run by this version; leave it out or at {}", row.path,
                                      to_json_text(fallback(i))));
    if (!row.lacks.empty()) r.notice({row.path}, fmt::format("{}: {}", row.path, row.lacks));
  }
}

}  // namespace

void find_what_does_not_run(Resolution& r) {
  refuse_choices(r);
  refuse_known_names(r);
}

}  // namespace underlap::plan
