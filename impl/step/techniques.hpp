// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "impl/device/technique.hpp"
#include "impl/plan/config.hpp"
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

/// All techniques that are linked in, kind by kind.
std::vector<ListedTechnique> all_techniques();

/// Whether a communication with this tag is of a technique whose overlap hangs on `knob`.
bool is_of_knob(std::string_view knob, const Tag& tag);

/// A technique that a configuration puts in effect.
struct TechniqueInEffect {
  Mode mode = Mode::none;
  std::string_view name;
  const TechniqueFacts* facts = nullptr;
  std::optional<plan::TensorSlot> slot = {};  ///< of a tensor-parallel one: whose settings chose it
  bool reduces = false;                       ///< it adds up what ranks have
};

/// Those of gradients, parameters, slots, exchanges of context parallelism and the pipeline. Groups of one rank have
/// none.
std::vector<TechniqueInEffect> techniques_in_effect(const plan::Config& config);

}  // namespace underlap
