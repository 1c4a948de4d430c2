// SPDX-License-Identifier: Apache-2.0
// Finds exposed communication in a configuration whose settings are all in effect. Each kind of transfer without
// concurrent compute gets a message with its cost and the fix.
#include <fmt/format.h>

#include <algorithm>

#include "impl/plan/pipeline_schedules.hpp"
#include "impl/plan/rules/resolution.hpp"
#include "impl/plan/schema/paths.hpp"
#include "impl/plan/tensor_slots.hpp"

namespace underlap::plan {
namespace {

void expose_data(Resolution& r) {
  const DdpConfig& ddp = r.config().ddp;
  if (!in_scope(Scope::dp, r)) return;
  if (!ddp.overlap_grad_reduce)
    r.expose({kGrads, "data_parallel_size"},
             fmt::format("every gradient reduction is exposed: overlap_grad_reduce is false, so all of them run after "
                         "the backward pass; set {} to true",
                         kGrads));
  if (ddp.use_distributed_optimizer && !ddp.overlap_param_gather)
    r.expose({kParams, "data_parallel_size"},
             fmt::format("every parameter gather is exposed: overlap_param_gather is false, so all of them run before "
                         "the forward pass; set {} to true",
                         kParams));
  if (r.settings.flag("ddp.check_for_nan_in_grad", false) && ddp.overlap_grad_reduce)
    r.expose(
        {"ddp.check_for_nan_in_grad"},
        "the host waits for the device before each bucket's reduction: ddp.check_for_nan_in_grad is true; set it to "
        "false");
}

void expose_tensor(Resolution& r) {
  const ParallelConfig& p = r.config().parallel;
  if (!in_scope(Scope::tp, r)) return;
  const auto& slots = r.config().tensor_overlap.slots;
  const auto uses_nccl = [](const TensorSlotOverlap& slot) { return !in_userbuffers(slot.method); };
  if (!p.sequence_parallel)
    r.expose({"model.sequence_parallel", kTp},
             "every all-reduce of a forward pass is exposed: sequence_parallel is false, and without it no "
             "tensor-parallel communication overlaps; set model.sequence_parallel to true");
  else if (std::ranges::all_of(slots, uses_nccl))
    r.expose(
        {kTensorOverlap, kTp},
        fmt::format("every gather and reduction of a layer's forward pass is exposed: tp_comm_overlap is false; set "
                    "{} to true",
                    kTensorOverlap));
  else if (const auto num = std::ranges::count_if(slots, uses_nccl); num > 0)
    r.expose({kTensorOverlap}, fmt::format("{} of the 10 tensor-parallel slots do not use userbuffers, so those of a "
                                           "forward pass are exposed; --all shows which, and why",
                                           num));
}

void expose_pipeline(Resolution& r) {
  const Config& c = r.config();
  if (!in_scope(Scope::pp, r) || c.extensions.pipeline_schedule) return;
  if (!c.pipeline.overlap_p2p_comm)
    r.expose(
        {"comm_overlap.overlap_p2p_comm", kPp},
        fmt::format("every transfer between stages is exposed: overlap_p2p_comm is false, so ranks wait for each; {}",
                    c.parallel.is_interleaved() ? "set comm_overlap.overlap_p2p_comm to true"
                                                : fmt::format("set {} above 1", kVpp)));
}

void expose_context(Resolution& r) {
  const Config& c = r.config();
  if (!in_scope(Scope::cp, r)) return;
  const auto num = std::ranges::count_if(c.context.cp_comm_type, [](CpCommType type) {
    return type == CpCommType::all_gather || type == CpCommType::a2a;
  });
  if (num > 0)
    r.expose({"model.cp_comm_type"},
             fmt::format("attention waits for its exchange in {}: cp_comm_type all_gather and a2a have no compute to "
                         "overlap with; p2p has",
                         c.context.cp_comm_type.size() == 1 ? "every layer" : fmt::format("{} layers", num)));
}

/// Megatron's timers of level 1 have barriers before a step's passes and before its last reductions.
void expose_barriers(Resolution& r) {
  constexpr std::string_view kLevel = "logger.timing_log_level", kBarrier = "model.barrier_with_L1_time";
  if (r.config().parallel.world_size() == 1 || r.settings.integer(kLevel, 0) < 1 || !r.settings.flag(kBarrier, true))
    return;
  r.expose({kLevel}, fmt::format("all ranks synchronize before each step's passes and before its gradients are "
                                 "complete: {} is {} and {} is true; set one of them to 0 or false",
                                 kLevel, r.settings.integer(kLevel, 0), kBarrier));
}

}  // namespace

void find_what_is_exposed(Resolution& r) {
  expose_data(r);
  expose_tensor(r);
  expose_pipeline(r);
  expose_context(r);
  expose_barriers(r);
}

}  // namespace underlap::plan
