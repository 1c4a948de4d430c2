// SPDX-License-Identifier: Apache-2.0
// The effect of Megatron Core's switches on a slot, as Transformer Engine's linear layers read them:
//   tp_comm_overlap_ag                gathers inside GEMMs: qkv and fc1 forward, proj and fc2 dgrad
//   tp_comm_overlap_rs                reductions inside GEMMs: proj and fc2 forward
//   tp_comm_bulk_dgrad, _bulk_wgrad   collectives during GEMMs: qkv and fc1 backward
//   tp_comm_overlap_rs_dgrad          qkv and fc1: dgrad reduces its own output, and both bulk overlaps are off
//   tp_comm_overlap_disable_qkv, _fc1 that layer's forward gather and its rs_dgrad are off; bulk overlaps stay
// A slot that is switched off communicates through NCCL, as without userbuffers.
#include "impl/plan/rules/tensor_request.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "impl/plan/rules/tensor_checks.hpp"

namespace underlap::plan {
namespace {

constexpr std::string_view kGather = "model.tp_comm_overlap_ag";
constexpr std::string_view kReduce = "model.tp_comm_overlap_rs";
constexpr std::string_view kReduceDgrad = "model.tp_comm_overlap_rs_dgrad";
constexpr std::string_view kBulkDgrad = "model.tp_comm_bulk_dgrad";
constexpr std::string_view kBulkWgrad = "model.tp_comm_bulk_wgrad";
constexpr std::string_view kDisableQkv = "model.tp_comm_overlap_disable_qkv";
constexpr std::string_view kDisableFc1 = "model.tp_comm_overlap_disable_fc1";
constexpr std::string_view kAsync = "extensions.tp_async_collectives";

bool is_qkv(TensorSlot slot) { return kTensorSlotNames[slot].starts_with("qkv"); }

bool is_column_fprop(TensorSlot slot) { return slot == TensorSlot::qkv_fprop || slot == TensorSlot::fc1_fprop; }

/// The effective settings of a slot. `reason` is why they differ from the setup.
struct Outcome {
  TensorSlotOverlap overlap;
  std::string reason = {};
  bool is_gated = false;  ///< the request is not met
};

class Switches {
 public:
  explicit Switches(const Resolution& r)
      : r_(r), without_(r.plan.config.extensions.tp_async_collectives ? TensorMethod::nccl : TensorMethod::waited) {}

  /// How a slot communicates outside userbuffers.
  TensorMethod without_userbuffers() const { return without_; }

  /// The switch that disables ring gathers and rs_dgrad for a layer.
  static std::string_view disabling(TensorSlot slot) { return is_qkv(slot) ? kDisableQkv : kDisableFc1; }
  bool is_disabled(TensorSlot slot) const { return on(disabling(slot), false); }

  bool reduces_dgrad(TensorSlot slot) const { return on(kReduceDgrad, false) && !is_disabled(slot); }

  bool on(std::string_view path, bool otherwise) const { return r_.settings.flag(path, otherwise); }

  Outcome apply(TensorSlot slot, const TensorSlotRequest& request, bool is_fp8) const {
    const TensorSlotOverlap overlap = set_up(slot, request, is_fp8);
    if (!in_userbuffers(overlap.method)) return outside(overlap.method);
    switch (kind_of(slot)) {
      case TensorSlotKind::gather_gemm: return apply_to_gather(slot, overlap);
      case TensorSlotKind::gemm_scatter: return on(kReduce, true) ? Outcome{overlap} : off(is_false(kReduce));
      case TensorSlotKind::column_dgrad: return apply_to_dgrad(slot, request, overlap, is_fp8);
      case TensorSlotKind::column_wgrad: return apply_to_wgrad(slot, overlap);
    }
    return {overlap};
  }

 private:
  static std::string is_false(std::string_view path) {
    return fmt::format("{} is false, so Transformer Engine sets the slot up and leaves it unused", path);
  }

  Outcome off(std::string reason) const { return {{.method = without_}, std::move(reason), true}; }

  /// The slot itself requests a method outside userbuffers.
  Outcome outside(TensorMethod method) const {
    const bool waits = method == TensorMethod::nccl && without_ == TensorMethod::waited;
    return {{.method = waits ? without_ : method}, waits ? fmt::format("{} is false", kAsync) : "", waits};
  }

  Outcome apply_to_gather(TensorSlot slot, const TensorSlotOverlap& overlap) const {
    if (!on(kGather, true)) return off(is_false(kGather));
    if (is_column_fprop(slot) && is_disabled(slot))
      return off(
          fmt::format("{} is true, so Transformer Engine sets the slot up and leaves it unused", disabling(slot)));
    return {overlap};
  }

  Outcome apply_to_dgrad(TensorSlot slot, const TensorSlotRequest& request, TensorSlotOverlap overlap,
                         bool is_fp8) const {
    const bool splits = splits_gemm(overlap.method);
    if (reduces_dgrad(slot) && splits) return {overlap};
    if (reduces_dgrad(slot)) {
      overlap.method = TensorMethod::pipeline;
      return {
          overlap,
          fmt::format("{} is true: the slot set up for bulk reduces in {} splits", kReduceDgrad, overlap.num_splits),
          request.contains("method")};
    }
    if (!on(kBulkDgrad, true)) return off(is_false(kBulkDgrad));
    if (!splits) return {overlap};
    TensorSlotRequest as_bulk = overlap.method == TensorMethod::pipeline ? request : TensorSlotRequest{};
    as_bulk["method"] = "bulk";
    return {set_up(slot, as_bulk, is_fp8),
            fmt::format("{} needs {}, which is {}: Megatron Core uses bulk overlap for this slot",
                        kTensorMethodNames[overlap.method], kReduceDgrad,
                        on(kReduceDgrad, false) ? fmt::format("off because {} is true", disabling(slot)) : "false"),
            true};
  }

  Outcome apply_to_wgrad(TensorSlot slot, const TensorSlotOverlap& overlap) const {
    if (reduces_dgrad(slot))
      return off(fmt::format("{} is true: dgrad is reduced with its own GEMM, and nothing is left to reduce here",
                             kReduceDgrad));
    return on(kBulkWgrad, true) ? Outcome{overlap} : off(is_false(kBulkWgrad));
  }

  const Resolution& r_;
  TensorMethod without_;
};

/// The source of the request for the slot, as text; empty: not requested.
std::string origin(const Resolution& r, const TensorConfig& config, std::size_t i) {
  const bool is_preset = config.preset && config.preset->slots[i] != TensorSlotRequest{};
  const Setting& written = r.settings[kTensorSlotPaths[i]];
  if (written.state != Setting::State::given && !(written.is_null && is_preset))
    return is_preset ? std::string(config.preset->name) : "";
  return fmt::format("{}{}{}{}", r.set_at(kTensorSlotPaths[i]),
                     written.is_null ? ": null"
                     : is_preset     ? ","
                                     : "",
                     is_preset ? " over " : "", is_preset ? config.preset->name : "");
}

void report_slot(Resolution& r, const TensorConfig& config, std::size_t i, const Outcome& slot) {
  const TensorSlotRequest& request = config.slots[i];
  const auto method = method_of(request);
  const std::string who = origin(r, config, i);
  const bool is_written = r.settings.given(kTensorSlotPaths[i]);
  Decision decision{to_value(static_cast<TensorSlot>(i), slot.overlap), who.empty() ? "auto" : "user",
                    who.empty() ? "Transformer Engine's default" : who};
  if (!slot.reason.empty()) decision.reason += "; " + slot.reason;
  if (wants(request, "fp8_buf") && !in_scope(Scope::fp8, r))
    decision.reason += "; fp8_buf has an effect only with fp8 recipes";
  if (slot.is_gated && (is_written || (method && splits_gemm(*method) &&
                                       kind_of(static_cast<TensorSlot>(i)) == TensorSlotKind::column_dgrad)))
    decision.source = "gate";
  if (!who.empty() && !is_written && !r.settings[kTensorSlotPaths[i]].is_null) decision.requested = to_value(request);
  r.decide(kTensorSlotPaths[i], std::move(decision));
}

/// What a slot does if every rank holds whole activations.
std::string_view without_sequence_parallel(TensorSlot slot) {
  switch (kind_of(slot)) {
    case TensorSlotKind::gemm_scatter: return "its output is all-reduced";
    case TensorSlotKind::column_wgrad: return "the output of dgrad is all-reduced";
    default: return "it exchanges nothing";
  }
}

/// Whether the configuration mentions the slots.
bool is_asked(const Resolution& r) {
  return r.settings.flag("comm_overlap.tp_comm_overlap", false) ||
         r.settings.given("comm_overlap.tp_comm_overlap_cfg") ||
         std::ranges::any_of(kTensorSlotPaths, [&](std::string_view path) { return r.settings.given(path); });
}

/// Sets every slot to its method without userbuffers, and reports `why` the switches have no effect.
void decide_without(Resolution& r, const Switches& switches, std::string_view why) {
  for (std::size_t i = 0; i < kNumTensorSlots; ++i) {
    TensorSlotOverlap& overlap = r.config().tensor_overlap.slots[i];
    overlap = {.method = switches.without_userbuffers()};
    if (!in_scope(Scope::tp, r) && !is_asked(r)) continue;
    const auto slot = static_cast<TensorSlot>(i);
    const std::string reason =
        r.config().parallel.sequence_parallel
            ? std::string(why)
            : fmt::format("{}; without sequence_parallel {}", why, without_sequence_parallel(slot));
    r.decide(kTensorSlotPaths[i], {to_value(slot, overlap), "auto", reason});
  }
  for (const std::string_view path : {kGather, kReduce, kReduceDgrad, kBulkDgrad, kBulkWgrad, kDisableQkv, kDisableFc1})
    if (r.settings.given(path) && in_scope(Scope::tp, r))
      r.decide(path, {r.settings[path].value, "user", fmt::format("{}; no effect: {}", r.set_at(path), why)});
}

void decide_switches(Resolution& r, const Switches& switches) {
  const bool wanted = switches.on(kReduceDgrad, false);
  const bool for_qkv = switches.reduces_dgrad(TensorSlot::qkv_dgrad);
  const bool for_fc1 = switches.reduces_dgrad(TensorSlot::fc1_dgrad);
  if (wanted && !for_qkv && !for_fc1)
    r.decide(kReduceDgrad, {false, "gate", fmt::format("{} and {} are true", kDisableQkv, kDisableFc1)});
  if (!for_qkv || !for_fc1) return;
  for (const std::string_view bulk : {kBulkDgrad, kBulkWgrad})
    r.decide(bulk, {false,
                    r.settings.flag(bulk, false) ? "gate"
                    : r.settings.given(bulk)     ? "user"
                                                 : "auto",
                    fmt::format("{} is true, so Transformer Engine disables both bulk overlaps", kReduceDgrad)});
}

}  // namespace

void decide_tensor_slots(Resolution& r, const TensorConfig& config, std::string_view why_off) {
  const Switches switches(r);
  if (!why_off.empty()) return decide_without(r, switches, why_off);
  const bool is_fp8 = in_scope(Scope::fp8, r);
  for (std::size_t i = 0; i < kNumTensorSlots; ++i) {
    const Outcome slot = switches.apply(static_cast<TensorSlot>(i), config.slots[i], is_fp8);
    r.config().tensor_overlap.slots[i] = slot.overlap;
    report_slot(r, config, i, slot);
  }
  check_tensor_slots(r, config);
  decide_switches(r, switches);
}

}  // namespace underlap::plan
