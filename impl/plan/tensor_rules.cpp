// SPDX-License-Identifier: Apache-2.0
// Tensor parallelism: the gates of Megatron-Bridge's CommOverlapConfig in their order. Its third, a Transformer Engine
// that cannot be imported, does not arise here.
#include <fmt/format.h>

#include "impl/plan/resolution.hpp"

namespace underlap::plan {
namespace {

constexpr std::string_view kOverlap = "comm_overlap.tp_comm_overlap";
constexpr std::string_view kConfig = "comm_overlap.tp_comm_overlap_cfg";

std::string closed_gate(const Resolution& r) {
  const ParallelConfig& p = r.plan.config.parallel;
  if (p.tensor_model_parallel_size < 2)
    return fmt::format("tensor_model_parallel_size is {}; TP overlap needs at least 2", p.tensor_model_parallel_size);
  if (!p.sequence_parallel) return "sequence_parallel is false; TP overlap moves sequence shards";
  return "";
}

}  // namespace

void apply_tp_rules(Resolution& r) {
  if (!r.settings.flag(kOverlap, false)) return;
  if (const std::string gate = closed_gate(r); !gate.empty()) return r.decide(kOverlap, {"false", "gate", gate});
  r.decide(kOverlap, {"true", "user", r.set_at(kOverlap)});
  if (!r.settings.given(kConfig))
    r.notice({kOverlap},
             "tp_comm_overlap without tp_comm_overlap_cfg: Transformer Engine's own settings for each GEMM");
}

}  // namespace underlap::plan
