// SPDX-License-Identifier: Apache-2.0
#include "impl/device/mode_techniques.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace underlap {
namespace {

std::vector<ModeTechniques>& registry() {
  static std::vector<ModeTechniques> modes;
  return modes;
}

}  // namespace

const std::vector<ModeTechniques>& all_modes() { return registry(); }

RegisterMode::RegisterMode(const ModeTechniques& added) {
  std::vector<ModeTechniques>& modes = registry();
  const auto place = std::ranges::lower_bound(modes, added.mode, {}, &ModeTechniques::mode);
  if (place != modes.end() && place->mode == added.mode)
    throw std::logic_error(fmt::format("mode {} is registered twice", to_string(added.mode)));
  modes.insert(place, added);
}

OverlapSwitch switch_of(std::string_view knob, const plan::Plan& plan, std::int64_t group_size,
                        const std::vector<ListedTechnique>& techniques) {
  OverlapSwitch made{.knob = std::string(knob), .group_size = group_size};
  if (const plan::Knob* found = plan::find_knob(plan, knob)) made.effective = found->effective;
  made.is_on = made.effective == plan::Value(true);
  for (const ListedTechnique& technique : techniques)
    if (technique.facts->knob == knob)
      for (const std::string_view purpose : technique.facts->purposes)
        if (std::ranges::find(made.purposes, purpose) == made.purposes.end()) made.purposes.emplace_back(purpose);
  return made;
}

}  // namespace underlap
