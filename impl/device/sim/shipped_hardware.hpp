// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace underlap::sim {

/// A description that the program carries: results/hardware/NAME.yaml as it was when the program was built.
struct ShippedHardware {
  std::string_view name;
  std::string_view yaml;
};

std::span<const ShippedHardware> shipped_hardware();

}  // namespace underlap::sim
