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

/// That of an environment.gpu_arch; nullptr where none ships.
const UsualHardware* usual_hardware_of(std::string_view arch);
/// That of a run.hardware; nullptr where it is another file.
const UsualHardware* usual_hardware_named(std::string_view name);

}  // namespace underlap::plan
