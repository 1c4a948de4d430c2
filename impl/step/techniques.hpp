// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "impl/device/mode_techniques.hpp"

namespace underlap {

/// All techniques that are linked in, mode by mode.
std::vector<ListedTechnique> all_techniques();

/// Those that a configuration puts in effect, mode by mode.
std::vector<TechniqueInEffect> techniques_in_effect(const plan::Config& config);

/// A knob of a configuration, and the mode whose communication it moves.
struct ModeSwitch : OverlapSwitch {
  Mode mode = Mode::none;

  /// Whether it moves a communication with this tag.
  bool moves(const Tag& tag) const;
};

/// All knobs that overlap hangs on, mode by mode. They refer to `plan`.
std::vector<ModeSwitch> overlap_switches(const plan::Plan& plan);

/// What traces carry of them, so that a reader of the trace names the knob that moves a communication: JSON, an object
/// {"dp": {"grad_reduce_scatter": "comm_overlap.overlap_grad_reduce"}} of knobs by mode and by how purposes begin.
std::string knobs_by_purpose(const plan::Plan& plan);

}  // namespace underlap
