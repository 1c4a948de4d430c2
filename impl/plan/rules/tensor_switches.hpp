// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "impl/plan/rules/tensor_request.hpp"

namespace underlap::plan {

/// Fills Config::tensor_overlap with what is in effect for each slot, and reports slots and switches as knobs.
///
/// why_off  why no slot overlaps; empty where tp_comm_overlap is in effect
void decide_tensor_slots(Resolution& resolution, const TensorConfig& config, std::string_view why_off);

}  // namespace underlap::plan
