// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "impl/device/technique.hpp"
#include "impl/plan/plan.hpp"
#include "profiler/trace/tag.hpp"

namespace underlap {

/// A technique of any kind, as `underlap list` shows it.
struct ListedTechnique {
  Mode mode = Mode::none;
  std::string_view name;
  std::string_view summary;
  std::string_view exposed;
  const TechniqueFacts* facts = nullptr;
};

/// A technique that a configuration activates.
struct TechniqueInEffect {
  Mode mode = Mode::none;
  std::string_view name;
  const TechniqueFacts* facts = nullptr;
  std::optional<plan::TensorSlot> slot = {};  ///< of a tensor-parallel technique: the slot whose settings selected it
  bool reduces = false;                       ///< whether it sums data of the ranks
};

/// A setting that controls overlap, in one configuration, and the communication that it affects.
struct OverlapSwitch {
  std::string knob;
  plan::Value effective = false;
  bool is_on = false;
  std::int64_t group_size = 1;             ///< ranks that take part in that communication
  std::vector<std::string> purposes = {};  ///< prefixes of the purposes of that communication, all of its mode
  /// Whether it affects a communication of a trace from another tool, where the purpose is the collective's name;
  /// empty: unknown.
  std::function<bool(const Tag&)> is_foreign = {};
  bool waits_are_the_schedules = false;  ///< pipelines: waits for other stages, which no overlap can hide
};

/// What the folder of one kind of parallelism provides. The rest of the program iterates over all of them by these
/// functions.
struct ModeTechniques {
  Mode mode = Mode::none;
  std::vector<ListedTechnique> (*all)() = nullptr;
  /// The techniques that a configuration activates. Groups of one rank have none.
  std::vector<TechniqueInEffect> (*in_effect)(const plan::Config&) = nullptr;
  /// The settings that control overlap, in display order.
  std::vector<OverlapSwitch> (*switches)(const plan::Plan&) = nullptr;
};

/// All modes that are linked in, in the order of Mode.
const std::vector<ModeTechniques>& all_modes();

/// Adds a mode when its file is linked, in an OBJECT library. Throws std::logic_error if the mode is already
/// registered.
struct RegisterMode {
  explicit RegisterMode(const ModeTechniques&);
};

/// The techniques of some kinds, in this order.
template <class... Kinds>
std::vector<ListedTechnique> listed(Mode mode) {
  std::vector<ListedTechnique> all;
  const auto append = [&](const auto& techniques) {
    for (const auto& technique : techniques)
      all.push_back({mode, technique.name, technique.summary, technique.exposed, &technique.facts});
  };
  (append(Kinds::all()), ...);
  return all;
}

template <class Kind, class Choice>
TechniqueInEffect in_effect_of(Mode mode, const Choice& choice) {
  const auto& technique = Kind::in_effect(choice);
  return {.mode = mode, .name = technique.name, .facts = &technique.facts};
}

/// The switch for a boolean setting: its value in the plan, and the purposes of the techniques that name it.
OverlapSwitch switch_of(std::string_view knob, const plan::Plan& plan, std::int64_t group_size,
                        const std::vector<ListedTechnique>& techniques);

}  // namespace underlap
