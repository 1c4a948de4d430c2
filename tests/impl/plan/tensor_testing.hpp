// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace underlap::plan {

inline const std::string kTensorOverlapOn = "comm_overlap: {tp_comm_overlap: true}\n";

/// Overlap of tensor-parallel communication with `cfg`, a mapping of slots.
inline std::string with_cfg(const std::string& cfg) {
  return "comm_overlap: {tp_comm_overlap: true, tp_comm_overlap_cfg: " + cfg + "}\n";
}

}  // namespace underlap::plan
