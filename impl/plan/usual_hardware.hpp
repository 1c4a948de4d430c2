// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace underlap::plan {

/// A description of a machine that ships with Underlap.
struct UsualHardware {
  std::string_view arch;  ///< environment.gpu_arch
  std::string_view name;  ///< run.hardware
  std::int64_t gpus_per_node = 0;
};

/// The hardware for an environment.gpu_arch; nullptr if there is no such file.
const UsualHardware* usual_hardware_of(std::string_view arch);
/// The hardware for a run.hardware; nullptr for other files.
const UsualHardware* usual_hardware_named(std::string_view name);

}  // namespace underlap::plan
