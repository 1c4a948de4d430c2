// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <span>
#include <string_view>

namespace underlap::plan {

// Paths of settings that the rules of several files name.
inline constexpr std::string_view kTp = "model.tensor_model_parallel_size";
inline constexpr std::string_view kPp = "model.pipeline_model_parallel_size";
inline constexpr std::string_view kVpp = "model.virtual_pipeline_model_parallel_size";
inline constexpr std::string_view kCp = "model.context_parallel_size";
inline constexpr std::string_view kGrads = "comm_overlap.overlap_grad_reduce";
inline constexpr std::string_view kParams = "comm_overlap.overlap_param_gather";
inline constexpr std::string_view kTensorOverlap = "comm_overlap.tp_comm_overlap";
inline constexpr std::string_view kTensorOverlapConfig = "comm_overlap.tp_comm_overlap_cfg";
inline constexpr std::string_view kReuse = "ddp.reuse_grad_buf_for_mxfp8_param_ag";
inline constexpr std::string_view kUserBuffers = "ddp.nccl_ub";

/// "overlap_grad_reduce" of "comm_overlap.overlap_grad_reduce".
inline std::string_view last_component(std::string_view path) { return path.substr(path.rfind('.') + 1); }

inline bool is_one_of(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace underlap::plan
