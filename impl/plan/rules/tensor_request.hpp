// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "impl/plan/rules/resolution.hpp"
#include "impl/plan/userbuffers.hpp"

namespace underlap::plan {

/// The requests of tp_comm_overlap_cfg and the keys beneath it.
struct TensorConfig {
  std::optional<UserbuffersPreset> preset;
  TensorRequests slots;  ///< the preset's entries, with every written entry merged over them; null unsets one
};

/// Reads all of it; invalid entries are errors even if tp_comm_overlap is off.
TensorConfig read_tensor_config(Resolution& resolution);

/// Fills Config::tensor_overlap with what is in effect for each slot, and reports slots and switches as knobs.
///
/// why_off  why no slot overlaps; empty where tp_comm_overlap is in effect
void decide_tensor_slots(Resolution& resolution, const TensorConfig& config, std::string_view why_off);

}  // namespace underlap::plan
