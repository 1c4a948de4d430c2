// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "impl/plan/rules/tensor_request.hpp"

namespace underlap::plan {

/// One slot for the checks of its fields: the request and the settings in effect.
struct SlotInEffect {
  Resolution& r;
  std::string_view path;
  const TensorSlotRequest& request;
  const TensorSlotOverlap& overlap;

  /// The field as it was written; null where it was not, or in a preset.
  const Entry* written(std::string_view field) const {
    return r.settings.given(path) ? find_entry(*r.settings[path].node, field) : nullptr;
  }
  /// `what` follows the slot's path.
  void notice(std::string_view what) const;
};

/// Checks the effective settings of each slot if tp_comm_overlap is on: splits must divide the size that they split,
/// and a requested field without effect gets a notice.
void check_tensor_slots(Resolution& resolution, const TensorConfig& config);

/// Userbuffers work within one NVLink domain: in virtual time, a tensor-parallel group that spans nodes is an error if
/// a slot uses them, else a notice.
///
/// gpus_per_node  of the machine; 0: unknown
void check_tensor_nodes(Resolution& resolution, std::int64_t gpus_per_node);

}  // namespace underlap::plan
