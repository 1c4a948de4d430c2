// SPDX-License-Identifier: Apache-2.0
#include "impl/plan/modes/mode_rules.hpp"

namespace underlap::plan {

ModeRules expert_rules() {
  return {.mode = Mode::ep,
          .word = "expert",
          .sizes = {{.knob = "model.expert_model_parallel_size", .letters = "EP"}},
          .expert_digit = 1,
          .has_part_groups = false};
}

}  // namespace underlap::plan
