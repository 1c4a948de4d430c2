// SPDX-License-Identifier: Apache-2.0
#include "bench/commands/steps_option.hpp"

#include <CLI/CLI.hpp>

#include "platform/flag_values.hpp"

namespace underlap::bench {

void add_steps_option(CLI::App& command, std::string& text) {
  command
      .add_option("--steps", text,
                  "steps to count: NAME (ranges with this name, without its number; if none has it, ranges that match "
                  "it as a regular expression), A:B (steps A to B, inclusive) or NAME,A:B")
      ->check(not_empty());
}

analysis::StepChoice steps_of_option(const std::string& text) {
  return text.empty() ? analysis::StepChoice{} : analysis::step_choice_from(text);
}

}  // namespace underlap::bench
