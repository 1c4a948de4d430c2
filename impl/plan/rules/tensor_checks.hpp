// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "impl/plan/rules/tensor_request.hpp"

namespace underlap::plan {

/// Checks the settings in effect for each slot, where tp_comm_overlap is: splits must divide what they cut, and a field
/// that was asked for and does nothing is a notice.
void check_tensor_slots(Resolution& resolution, const TensorConfig& config);

/// Userbuffers move within one NVLink domain: a tensor-parallel group of virtual time that spans nodes is an error
/// where a slot uses them, else a notice.
///
/// gpus_per_node  of the machine; 0: nobody knows
void check_tensor_nodes(Resolution& resolution, std::int64_t gpus_per_node);

}  // namespace underlap::plan
