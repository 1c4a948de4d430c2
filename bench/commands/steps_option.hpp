// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "profiler/analysis/steps/step_choice.hpp"

namespace CLI {
class App;
}

namespace underlap::bench {

/// Adds --steps to the command. `text` must outlive it.
void add_steps_option(CLI::App& command, std::string& text);

/// The steps that --steps selects: all for an empty text. Throws as analysis::step_choice_from().
analysis::StepChoice steps_of_option(const std::string& text);

}  // namespace underlap::bench
