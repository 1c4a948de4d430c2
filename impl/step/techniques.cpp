// SPDX-License-Identifier: Apache-2.0
#include "impl/step/techniques.hpp"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "platform/json.hpp"

namespace underlap {

std::vector<ListedTechnique> all_techniques() {
  std::vector<ListedTechnique> all;
  for (const ModeTechniques& mode : all_modes()) std::ranges::copy(mode.all(), std::back_inserter(all));
  return all;
}

std::vector<TechniqueInEffect> techniques_in_effect(const plan::Config& config) {
  std::vector<TechniqueInEffect> techniques;
  for (const ModeTechniques& mode : all_modes())
    std::ranges::copy(mode.in_effect(config), std::back_inserter(techniques));
  return techniques;
}

bool ModeSwitch::moves(const Tag& tag) const {
  const std::string_view purpose = name_of(tag.purpose);
  return tag.mode == mode &&
         std::ranges::any_of(purposes, [&](const std::string& beginning) { return purpose.starts_with(beginning); });
}

std::vector<ModeSwitch> overlap_switches(const plan::Plan& plan) {
  std::vector<ModeSwitch> all;
  for (const ModeTechniques& mode : all_modes())
    for (OverlapSwitch& each : mode.switches(plan)) all.push_back({std::move(each), mode.mode});
  return all;
}

// Of several knobs for one purpose the first: what a slot does hangs on the switch of all slots, too.
std::string knobs_by_purpose(const plan::Plan& plan) {
  nlohmann::ordered_json knobs = nlohmann::ordered_json::object();
  for (const ModeSwitch& each : overlap_switches(plan))
    for (const std::string& purpose : each.purposes)
      knobs[std::string(to_string(each.mode))].emplace(purpose, each.knob);
  return json_text(knobs);
}

}  // namespace underlap
