// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>

#include "impl/plan/tensor_overlap.hpp"
#include "impl/plan/value.hpp"
#include "profiler/trace/enum_names.hpp"

namespace underlap::plan {

inline constexpr EnumNames<TensorMethod, 5> kTensorMethodNames{{"waited", "nccl", "bulk", "ring_exchange", "pipeline"}};

inline constexpr EnumNames<TensorSlot, kNumTensorSlots> kTensorSlotNames{
    {"qkv_fprop", "qkv_dgrad", "qkv_wgrad", "proj_fprop", "proj_dgrad", "fc1_fprop", "fc1_dgrad", "fc1_wgrad",
     "fc2_fprop", "fc2_dgrad"}};

/// The key of each slot in a configuration, and its name in a plan.
inline constexpr std::array<std::string_view, kNumTensorSlots> kTensorSlotPaths = {
    "comm_overlap.tp_comm_overlap_cfg.qkv_fprop",  "comm_overlap.tp_comm_overlap_cfg.qkv_dgrad",
    "comm_overlap.tp_comm_overlap_cfg.qkv_wgrad",  "comm_overlap.tp_comm_overlap_cfg.proj_fprop",
    "comm_overlap.tp_comm_overlap_cfg.proj_dgrad", "comm_overlap.tp_comm_overlap_cfg.fc1_fprop",
    "comm_overlap.tp_comm_overlap_cfg.fc1_dgrad",  "comm_overlap.tp_comm_overlap_cfg.fc1_wgrad",
    "comm_overlap.tp_comm_overlap_cfg.fc2_fprop",  "comm_overlap.tp_comm_overlap_cfg.fc2_dgrad"};

/// How a slot's collective relates to its GEMM.
enum class TensorSlotKind : std::uint8_t {
  gather_gemm,   ///< the GEMM needs the gathered data
  gemm_scatter,  ///< the GEMM's output is reduced
  column_dgrad,  ///< the layer's input is gathered during the GEMM; with rs_dgrad its result is reduced
  column_wgrad,  ///< dgrad is reduced during the GEMM
};

TensorSlotKind kind_of(TensorSlot slot);

/// Whether `method` splits the slot's GEMM or reduces its output, instead of running during it.
inline bool splits_gemm(TensorMethod method) {
  return method == TensorMethod::ring_exchange || method == TensorMethod::pipeline;
}

/// Whether its collectives are in userbuffers.
inline bool in_userbuffers(TensorMethod method) { return method == TensorMethod::bulk || splits_gemm(method); }

/// Whether a slot's collectives are.
inline bool uses_userbuffers(const TensorOverlap& overlap) {
  return std::ranges::any_of(overlap.slots, in_userbuffers, &TensorSlotOverlap::method);
}

/// Whether the slot reduces data as fp8.
bool reduces_in_fp8(TensorSlot slot, const TensorSlotOverlap& overlap);

/// Whether the slot's collective is a gather, by the method in effect.
bool gathers(TensorSlot slot, TensorMethod method);

/// The written fields of one slot; a missing field has Transformer Engine's default. If fp8_buf has
/// PipelineOverlapCfg's default, the tuple (False,), it is a list.
using TensorSlotRequest = std::map<std::string_view, Value>;
using TensorRequests = std::array<TensorSlotRequest, kNumTensorSlots>;

std::optional<TensorMethod> method_of(const TensorSlotRequest& request);

/// Whether a flag is on. Values other than booleans are true, as is any nonempty tuple in Python.
bool is_true(const Value& flag);
/// Whether a flag was written and is on.
bool wants(const TensorSlotRequest& request, std::string_view flag);

/// Whether fp8_buf has PipelineOverlapCfg's default tuple.
bool is_left_at_tuple(const TensorSlotRequest& request);

/// The fields of `over`, and those of `base` for all others.
TensorSlotRequest merged(const TensorSlotRequest& base, TensorSlotRequest over);

/// Transformer Engine's setup of a slot without a written entry.
TensorSlotOverlap transformer_engine_default(TensorSlot slot);

/// The slot as Transformer Engine sets it up: `request` merged over its default, for any method; fp8_buf is recomputed
/// if GEMMs run in fp8.
TensorSlotOverlap set_up(TensorSlot slot, const TensorSlotRequest& request, bool is_fp8);

/// The fields that the method uses; for a request, the written ones.
Value to_value(TensorSlot slot, const TensorSlotOverlap& overlap);
Value to_value(const TensorSlotRequest& request);

}  // namespace underlap::plan
