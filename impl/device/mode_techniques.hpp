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

/// A technique that a configuration puts in effect.
struct TechniqueInEffect {
  Mode mode = Mode::none;
  std::string_view name;
  const TechniqueFacts* facts = nullptr;
  std::optional<plan::TensorSlot> slot = {};  ///< of a tensor-parallel one: whose settings chose it
  bool reduces = false;                       ///< it adds up what ranks have
};

/// A knob that overlap hangs on, in one configuration, and the communication that it moves.
struct OverlapSwitch {
  std::string knob;
  plan::Value effective = false;
  bool is_on = false;
  std::int64_t group_size = 1;             ///< ranks that exchange what it moves
  std::vector<std::string> purposes = {};  ///< how those of what it moves begin, all of its mode
  /// Whether it moves a communication of a trace that was made elsewhere, where the purpose is the collective's name;
  /// empty: it cannot be told.
  std::function<bool(const Tag&)> is_foreign = {};
  bool waits_are_the_schedules = false;  ///< pipelines: waits for other stages, which no overlap could hide
};

/// What one kind of parallelism has in its folder. The rest of the program asks for all of them and names none.
struct ModeTechniques {
  Mode mode = Mode::none;
  std::vector<ListedTechnique> (*all)() = nullptr;
  /// Those that a configuration puts in effect. Groups of one rank have none.
  std::vector<TechniqueInEffect> (*in_effect)(const plan::Config&) = nullptr;
  /// The knobs that overlap hangs on, in the order in which they are shown.
  std::vector<OverlapSwitch> (*switches)(const plan::Plan&) = nullptr;
};

/// All modes that are linked in, in the order of Mode.
const std::vector<ModeTechniques>& all_modes();

/// Adds a mode when its file is linked in, in an OBJECT library. Throws std::logic_error for a second one of the mode.
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

/// The switch of a knob that is true or false: as the plan has it, and the purposes of the techniques that name it.
OverlapSwitch switch_of(std::string_view knob, const plan::Plan& plan, std::int64_t group_size,
                        const std::vector<ListedTechnique>& techniques);

}  // namespace underlap
