// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "impl/plan/rules/resolution.hpp"
#include "impl/plan/userbuffers.hpp"

namespace underlap::plan {

/// What tp_comm_overlap_cfg and the keys beneath it ask for.
struct TensorConfig {
  std::optional<UserbuffersPreset> preset;
  TensorRequests slots;  ///< the preset's, with every written entry laid over it; null unsets one
};

/// Reads all of it; what is wrong is an error whether or not tp_comm_overlap is on.
TensorConfig read_tensor_config(Resolution& resolution);

}  // namespace underlap::plan
