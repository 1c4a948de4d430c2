// SPDX-License-Identifier: Apache-2.0
#include "impl/plan/usual_hardware.hpp"

#include <algorithm>
#include <array>

namespace underlap::plan {
namespace {

constexpr std::array<UsualHardware, 5> kHardware{{
    {"a100", "a100-sxm", 8},
    {"h100", "h100-sxm", 8},
    {"h200", "h200-sxm", 8},
    {"b200", "b200", 8},
    {"gb200", "gb200", 72},
}};

const UsualHardware* found(std::string_view text, std::string_view UsualHardware::*part) {
  const auto* hardware = std::ranges::find(kHardware, text, part);
  return hardware == kHardware.end() ? nullptr : hardware;
}

}  // namespace

const UsualHardware* usual_hardware_of(std::string_view arch) { return found(arch, &UsualHardware::arch); }
const UsualHardware* usual_hardware_named(std::string_view name) { return found(name, &UsualHardware::name); }

}  // namespace underlap::plan
