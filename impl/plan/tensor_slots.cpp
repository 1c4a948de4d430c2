// SPDX-License-Identifier: Apache-2.0
// The ten slots, with Transformer Engine's setup for each (initialize_ub, sources of 2026-08-22). An entry of a
// configuration is merged over the slot's default field by field, so a ring instead of a pipeline keeps the pipeline's
// 16 SMs unless it overrides them. Only fp8_buf is recomputed: gathers always use fp8 with fp8 GEMMs. Reductions use it
// if requested, for slots that Transformer Engine lists under pipeline.
#include "impl/plan/tensor_slots.hpp"

#include "impl/plan/slots/slot_fields.hpp"

namespace underlap::plan {
namespace {

bool may_reduce_in_fp8(TensorSlot slot, TensorMethod method) {
  switch (kind_of(slot)) {
    case TensorSlotKind::gemm_scatter: return true;
    case TensorSlotKind::column_dgrad: return method == TensorMethod::pipeline;
    default: return false;
  }
}

}  // namespace

TensorSlotKind kind_of(TensorSlot slot) {
  switch (slot) {
    case TensorSlot::proj_fprop:
    case TensorSlot::fc2_fprop: return TensorSlotKind::gemm_scatter;
    case TensorSlot::qkv_dgrad:
    case TensorSlot::fc1_dgrad: return TensorSlotKind::column_dgrad;
    case TensorSlot::qkv_wgrad:
    case TensorSlot::fc1_wgrad: return TensorSlotKind::column_wgrad;
    default: return TensorSlotKind::gather_gemm;
  }
}

bool gathers(TensorSlot slot, TensorMethod method) {
  const TensorSlotKind kind = kind_of(slot);
  return kind == TensorSlotKind::gather_gemm || (kind == TensorSlotKind::column_dgrad && !splits_gemm(method));
}

bool reduces_in_fp8(TensorSlot slot, const TensorSlotOverlap& overlap) {
  return overlap.fp8_buf && !gathers(slot, overlap.method);
}

std::optional<TensorMethod> method_of(const TensorSlotRequest& request) {
  const auto written = request.find("method");
  return written == request.end() ? std::nullopt : kTensorMethodNames.find(std::get<std::string>(written->second));
}

bool is_true(const Value& flag) {
  const bool* const is_on = std::get_if<bool>(&flag);
  return is_on == nullptr || *is_on;
}

bool wants(const TensorSlotRequest& request, std::string_view flag) {
  const auto written = request.find(flag);
  return written != request.end() && is_true(written->second);
}

bool is_left_at_tuple(const TensorSlotRequest& request) {
  const auto fp8_buf = request.find("fp8_buf");
  return fp8_buf != request.end() && std::holds_alternative<ValueList>(fp8_buf->second);
}

TensorSlotRequest merged(const TensorSlotRequest& base, TensorSlotRequest over) {
  over.insert(base.begin(), base.end());
  return over;
}

TensorSlotOverlap transformer_engine_default(TensorSlot slot) {
  switch (kind_of(slot)) {
    case TensorSlotKind::gather_gemm: return {.method = TensorMethod::ring_exchange};
    case TensorSlotKind::gemm_scatter:
      return {.method = TensorMethod::pipeline, .num_sm = 16, .cga_size = 2, .set_sm_margin = true};
    default: return {.method = TensorMethod::bulk, .num_sm = 16, .cga_size = 2, .set_sm_margin = true};
  }
}

TensorSlotOverlap set_up(TensorSlot slot, const TensorSlotRequest& request, bool is_fp8) {
  TensorSlotOverlap overlap = transformer_engine_default(slot);
  overlap.method = method_of(request).value_or(overlap.method);
  for (const SlotField& field : slot_fields()) {
    const auto written = request.find(field.name);
    const bool is_off = field.chooses && !field.applies(slot, overlap.method);
    if (written != request.end() && !is_off) store_field(field, overlap, written->second);
  }
  const bool wanted = wants(request, "fp8_buf") && may_reduce_in_fp8(slot, overlap.method);
  overlap.fp8_buf = is_fp8 && (wanted || gathers(slot, overlap.method));
  return overlap;
}

Value to_value(TensorSlot slot, const TensorSlotOverlap& overlap) {
  ValueMapping fields;
  for (const SlotField& field : slot_fields())
    if (field.applies(slot, overlap.method)) fields.emplace_back(field.name, read_field(field, overlap));
  return fields;
}

Value to_value(const TensorSlotRequest& request) {
  ValueMapping fields;
  for (const SlotField& field : slot_fields())
    if (const auto written = request.find(field.name); written != request.end())
      fields.emplace_back(field.name, std::holds_alternative<ValueList>(written->second) ? true : written->second);
  return fields;
}

}  // namespace underlap::plan
