// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>

#include "impl/plan/value.hpp"

namespace underlap::plan {

/// How one GEMM of a tensor-parallel layer meets its communication. Words of Megatron-Bridge's tp_comm_overlap_cfg,
/// and two for what happens without userbuffers.
enum class TensorMethod : std::uint8_t {
  waited,         ///< every collective is waited for at once: a floor
  nccl,           ///< as Megatron runs without userbuffers: asynchronous in the backward pass, waited for in forward
  bulk,           ///< the whole collective under a GEMM that does not depend on it
  ring_exchange,  ///< cut in as many parts as there are ranks, each under the GEMM of another part
  pipeline,       ///< GEMM in splits of output features, each reduced under the next split's GEMM
};

/// The GEMMs of a layer that a method is chosen for, in the order of Megatron-Bridge's TransformerLayerTPOverlapCfg.
/// proj_wgrad and fc2_wgrad communicate nothing.
enum class TensorSlot : std::uint8_t {
  qkv_fprop,
  qkv_dgrad,
  qkv_wgrad,
  proj_fprop,
  proj_dgrad,
  fc1_fprop,
  fc1_dgrad,
  fc1_wgrad,
  fc2_fprop,
  fc2_dgrad,
};
inline constexpr std::size_t kNumTensorSlots = 10;

/// One slot's settings, as they are in effect. A new member has a row in slot_fields.cpp.
struct TensorSlotOverlap {
  TensorMethod method = TensorMethod::nccl;
  bool aggregate = false;      ///< ring_exchange: two parts a step after one swap
  int num_sm = 1;              ///< multiprocessors of the communication; a ring's: what its margin leaves, for its
                               ///< hops take copy engines or as many as NCCL gives them
  int cga_size = 1;            ///< blocks of a cluster of a bulk or pipelined collective's kernel
  bool set_sm_margin = false;  ///< the GEMM leaves num_sm multiprocessors free
  int num_splits = 4;          ///< pipeline: splits
  bool fp8_buf = false;        ///< what moves travels as fp8; under an fp8 recipe every gather does
  std::map<std::string_view, Value> own = {};  ///< fields that techniques declare for themselves (slot_fields.hpp)

  friend bool operator==(const TensorSlotOverlap&, const TensorSlotOverlap&) = default;
};

/// What is in effect for each slot, after tp_comm_overlap and every switch beside it. Where qkv_dgrad or fc1_dgrad is a
/// ring_exchange or a pipeline (tp_comm_overlap_rs_dgrad), its GEMM's own output is reduced and the layer's wgrad slot
/// reduces nothing; the layer's input is then gathered without userbuffers.
struct TensorOverlap {
  std::array<TensorSlotOverlap, kNumTensorSlots> slots{};

  const TensorSlotOverlap& operator[](TensorSlot slot) const { return slots[static_cast<std::size_t>(slot)]; }
  TensorSlotOverlap& operator[](TensorSlot slot) { return slots[static_cast<std::size_t>(slot)]; }
};

}  // namespace underlap::plan
