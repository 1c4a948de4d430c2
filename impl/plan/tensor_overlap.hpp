// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>

#include "impl/plan/value.hpp"

namespace underlap::plan {

/// How one GEMM of a tensor-parallel layer is combined with its communication. The words of Megatron-Bridge's
/// tp_comm_overlap_cfg, and two for operation without userbuffers.
enum class TensorMethod : std::uint8_t {
  waited,         ///< waits for every collective at once: a lower bound for overlap
  nccl,           ///< as Megatron without userbuffers: asynchronous in backward passes, waited for in forward passes
  bulk,           ///< the whole collective during an independent GEMM
  ring_exchange,  ///< split into as many parts as ranks, each during the GEMM of another part
  pipeline,       ///< GEMM in splits of output features, each reduced during the GEMM of the next split
};

/// The GEMMs of a layer that have a method, in the order of Megatron-Bridge's TransformerLayerTPOverlapCfg. proj_wgrad
/// and fc2_wgrad do not communicate.
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

/// The effective settings of one slot. A new member needs a row in slot_fields.cpp.
struct TensorSlotOverlap {
  TensorMethod method = TensorMethod::nccl;
  bool aggregate = false;      ///< ring_exchange: two parts a step after one swap
  int num_sm = 1;              ///< multiprocessors of the communication; for a ring: the GEMM's margin, because its
                               ///< hops use copy engines or as many multiprocessors as NCCL gives them
  int cga_size = 1;            ///< blocks of a cluster of a bulk or pipelined collective's kernel
  bool set_sm_margin = false;  ///< the GEMM leaves num_sm multiprocessors free
  int num_splits = 4;          ///< pipeline: splits
  bool fp8_buf = false;        ///< data is sent as fp8; under an fp8 recipe every gather is
  std::map<std::string_view, Value> own = {};  ///< private fields of techniques (slot_fields.hpp)

  friend bool operator==(const TensorSlotOverlap&, const TensorSlotOverlap&) = default;
};

/// The effective settings of each slot, after tp_comm_overlap and all related switches. If qkv_dgrad or fc1_dgrad is a
/// ring_exchange or a pipeline (tp_comm_overlap_rs_dgrad), its GEMM's own output is reduced and the layer's wgrad slot
/// reduces nothing. The layer's input is then gathered without userbuffers.
struct TensorOverlap {
  std::array<TensorSlotOverlap, kNumTensorSlots> slots{};

  const TensorSlotOverlap& operator[](TensorSlot slot) const { return slots[static_cast<std::size_t>(slot)]; }
  TensorSlotOverlap& operator[](TensorSlot slot) { return slots[static_cast<std::size_t>(slot)]; }
};

}  // namespace underlap::plan
