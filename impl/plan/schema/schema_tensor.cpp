// SPDX-License-Identifier: Apache-2.0
// The knobs of tensor-parallel overlap. Names and defaults are those of Megatron-Bridge's CommOverlapConfig and of
// Megatron Core's TransformerConfig (sources of 2026-08-22).
#include <array>

#include "impl/plan/slot.hpp"

namespace underlap::plan {
namespace {

constexpr auto kExtensions = &Config::extensions;

using enum Type;
using enum Status;

constexpr Row slot_row(std::string_view path, std::string_view spelling, std::string_view about) {
  return {.path = path,
          .spellings = spelling,
          .type = any,
          .status = honoured,
          .scope = Scope::tp,
          .role = Role::manner,
          .fallback = "null",
          .rule = "from the preset, or Transformer Engine's default",
          .about = about};
}

constexpr auto kRows = std::to_array<Row>({
    {.path = "model.tp_comm_bulk_dgrad",
     .status = honoured,
     .scope = Scope::tp,
     .role = Role::manner,
     .fallback = "true",
     .rule = "Megatron Core: true",
     .about = "All-gather of the layer input under the dgrad GEMM"},
    {.path = "model.tp_comm_bulk_wgrad",
     .status = honoured,
     .scope = Scope::tp,
     .role = Role::manner,
     .fallback = "true",
     .rule = "Megatron Core: true",
     .about = "Reduce-scatter of dgrad under the wgrad GEMM"},
    {.path = "model.tp_comm_overlap_ag",
     .status = honoured,
     .scope = Scope::tp,
     .role = Role::manner,
     .fallback = "true",
     .rule = "Megatron Core: true",
     .about = "Ring all-gather inside a split GEMM"},
    {.path = "model.tp_comm_overlap_rs",
     .status = honoured,
     .scope = Scope::tp,
     .role = Role::manner,
     .fallback = "true",
     .rule = "Megatron Core: true",
     .about = "GEMM with its reduce-scatter inside"},
    {.path = "model.tp_comm_overlap_rs_dgrad",
     .status = honoured,
     .scope = Scope::tp,
     .role = Role::manner,
     .fallback = "false",
     .rule = "Megatron Core: false",
     .about = "dgrad GEMM with its reduce-scatter, in place of the two bulk overlaps"},
    {.path = "model.tp_comm_overlap_disable_qkv",
     .status = honoured,
     .scope = Scope::tp,
     .role = Role::manner,
     .fallback = "false",
     .rule = "Megatron Core: false",
     .about = "No TP overlap for the qkv GEMM"},
    {.path = "model.tp_comm_overlap_disable_fc1",
     .status = honoured,
     .scope = Scope::tp,
     .role = Role::manner,
     .fallback = "false",
     .rule = "Megatron Core: false",
     .about = "No TP overlap for the fc1 GEMM"},
    {.path = "comm_overlap.tp_comm_overlap",
     .spellings = "model.tp_comm_overlap",
     .status = honoured,
     .scope = Scope::tp,
     .role = Role::overlap,
     .listed = true,
     .fallback = "false",
     .rule = "false",
     .about = "TP communication inside and under the GEMMs"},
    {.path = "comm_overlap.tp_comm_overlap_cfg",
     .spellings = "model.tp_comm_overlap_cfg",
     .type = any,
     .status = honoured,
     .scope = Scope::tp,
     .role = Role::manner,
     .listed = true,
     .fallback = "null",
     .rule = "none: Transformer Engine's own settings for each GEMM",
     .about = "A userbuffers preset by name, or how each GEMM overlaps"},
    slot_row("comm_overlap.tp_comm_overlap_cfg.qkv_fprop", "model.tp_comm_overlap_cfg.qkv_fprop",
             "All-gather of the input and its GEMM"),
    slot_row(
        "comm_overlap.tp_comm_overlap_cfg.qkv_dgrad", "model.tp_comm_overlap_cfg.qkv_dgrad",
        "All-gather of the input beside the dgrad GEMM, or with rs_dgrad the GEMM and reduce-scatter of its output"),
    slot_row("comm_overlap.tp_comm_overlap_cfg.qkv_wgrad", "model.tp_comm_overlap_cfg.qkv_wgrad",
             "Reduce-scatter of dgrad beside the wgrad GEMM"),
    slot_row("comm_overlap.tp_comm_overlap_cfg.proj_fprop", "model.tp_comm_overlap_cfg.proj_fprop",
             "GEMM and reduce-scatter of its output"),
    slot_row("comm_overlap.tp_comm_overlap_cfg.proj_dgrad", "model.tp_comm_overlap_cfg.proj_dgrad",
             "All-gather of the output's gradient and the dgrad GEMM"),
    slot_row("comm_overlap.tp_comm_overlap_cfg.fc1_fprop", "model.tp_comm_overlap_cfg.fc1_fprop",
             "All-gather of the input and its GEMM"),
    slot_row(
        "comm_overlap.tp_comm_overlap_cfg.fc1_dgrad", "model.tp_comm_overlap_cfg.fc1_dgrad",
        "All-gather of the input beside the dgrad GEMM, or with rs_dgrad the GEMM and reduce-scatter of its output"),
    slot_row("comm_overlap.tp_comm_overlap_cfg.fc1_wgrad", "model.tp_comm_overlap_cfg.fc1_wgrad",
             "Reduce-scatter of dgrad beside the wgrad GEMM"),
    slot_row("comm_overlap.tp_comm_overlap_cfg.fc2_fprop", "model.tp_comm_overlap_cfg.fc2_fprop",
             "GEMM and reduce-scatter of its output"),
    slot_row("comm_overlap.tp_comm_overlap_cfg.fc2_dgrad", "model.tp_comm_overlap_cfg.fc2_dgrad",
             "All-gather of the output's gradient and the dgrad GEMM"),
    {.path = "extensions.tp_ring_transport",
     .type = text,
     .status = honoured,
     .scope = Scope::tp,
     .role = Role::manner,
     .rule = "copy_engine, as userbuffers",
     .about = "What moves the parts of a ring exchange: copy engines, or NCCL's sends and receives",
     .slot = kSlot<kExtensions, &Extensions::tp_ring_transport>,
     .choices = "copy_engine nccl"},
    {.path = "extensions.tp_async_collectives",
     .status = honoured,
     .scope = Scope::tp,
     .role = Role::floor,
     .rule = "true, as Megatron runs without userbuffers",
     .about = "Without userbuffers the backward collectives run beside GEMMs; false: each is waited for at once",
     .slot = kSlot<kExtensions, &Extensions::tp_async_collectives>},
});

}  // namespace

std::span<const Row> tensor_rows() { return kRows; }

}  // namespace underlap::plan
