// SPDX-License-Identifier: Apache-2.0
// The ten slots, with what Transformer Engine sets up for each (initialize_ub, sources of 2026-08-22): an entry of a
// configuration is laid over the slot's default field by field, so a ring in place of a pipeline keeps the pipeline's
// 16 SMs unless it says otherwise. fp8_buf alone is computed anew: gathers always travel in fp8 where GEMMs are fp8,
// reductions where it was asked for and the slot is one that Transformer Engine lists under pipeline.
#include "impl/plan/tensor_slots.hpp"

namespace underlap::plan {
namespace {

template <class Field>
std::optional<Field> first_given(const std::optional<Field>& first, const std::optional<Field>& second) {
  return first ? first : second;
}

bool may_reduce_in_fp8(TensorSlot slot, TensorMethod method) {
  switch (kind_of(slot)) {
    case TensorSlotKind::gemm_scatter: return true;
    case TensorSlotKind::column_dgrad: return method == TensorMethod::pipeline;
    default: return false;
  }
}

bool gathers(TensorSlot slot, TensorMethod method) {
  const TensorSlotKind kind = kind_of(slot);
  return kind == TensorSlotKind::gather_gemm || (kind == TensorSlotKind::column_dgrad && !splits_gemm(method));
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

bool reduces_in_fp8(TensorSlot slot, const TensorSlotOverlap& overlap) {
  return overlap.fp8_buf && !gathers(slot, overlap.method);
}

TensorSlotRequest laid_over(const TensorSlotRequest& base, const TensorSlotRequest& over) {
  return {.method = first_given(over.method, base.method),
          .aggregate = first_given(over.aggregate, base.aggregate),
          .num_sm = first_given(over.num_sm, base.num_sm),
          .cga_size = first_given(over.cga_size, base.cga_size),
          .set_sm_margin = first_given(over.set_sm_margin, base.set_sm_margin),
          .num_splits = first_given(over.num_splits, base.num_splits),
          .fp8_buf = first_given(over.fp8_buf, base.fp8_buf),
          .fp8_buf_is_tuple = over.fp8_buf ? over.fp8_buf_is_tuple : base.fp8_buf_is_tuple};
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
  overlap.method = request.method.value_or(overlap.method);
  overlap.num_sm = request.num_sm.value_or(overlap.num_sm);
  overlap.cga_size = request.cga_size.value_or(overlap.cga_size);
  overlap.set_sm_margin = request.set_sm_margin.value_or(overlap.set_sm_margin);
  overlap.num_splits = request.num_splits.value_or(overlap.num_splits);
  const bool is_ring = overlap.method == TensorMethod::ring_exchange;
  overlap.aggregate = is_ring && gathers(slot, overlap.method) && request.aggregate.value_or(false);
  const bool wanted = request.fp8_buf.value_or(false) && may_reduce_in_fp8(slot, overlap.method);
  overlap.fp8_buf = is_fp8 && (wanted || gathers(slot, overlap.method));
  return overlap;
}

Value to_value(TensorSlot slot, const TensorSlotOverlap& overlap) {
  ValueMapping fields{{"method", std::string(kTensorMethodNames[overlap.method])}};
  if (overlap.method == TensorMethod::waited || overlap.method == TensorMethod::nccl) return fields;
  if (overlap.method == TensorMethod::pipeline) fields.emplace_back("num_splits", overlap.num_splits);
  if (overlap.method == TensorMethod::ring_exchange && gathers(slot, overlap.method))
    fields.emplace_back("aggregate", overlap.aggregate);
  fields.emplace_back("num_sm", overlap.num_sm);
  fields.emplace_back("cga_size", overlap.cga_size);
  fields.emplace_back("set_sm_margin", overlap.set_sm_margin);
  fields.emplace_back("fp8_buf", overlap.fp8_buf);
  return fields;
}

Value to_value(const TensorSlotRequest& request) {
  ValueMapping fields;
  const auto put = [&](const char* name, const auto& field) {
    if (field) fields.emplace_back(name, *field);
  };
  if (request.method) fields.emplace_back("method", std::string(kTensorMethodNames[*request.method]));
  put("num_splits", request.num_splits);
  put("aggregate", request.aggregate);
  put("num_sm", request.num_sm);
  put("cga_size", request.cga_size);
  put("set_sm_margin", request.set_sm_margin);
  put("fp8_buf", request.fp8_buf);
  return fields;
}

}  // namespace underlap::plan
