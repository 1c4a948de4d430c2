// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace underlap::analysis {

/// Which ranges are steps, and which of the steps count, as chosen by --steps.
struct StepChoice {
  std::string name{};                                              ///< a name or a regular expression; "": any
  std::optional<std::pair<std::int32_t, std::int32_t>> numbers{};  ///< first and last step, inclusive

  bool is_any() const { return name.empty() && !numbers; }
};

/// Parses "NAME", "A:B" or "NAME,A:B". Throws std::invalid_argument for an empty text, and where B is less than A.
StepChoice step_choice_from(std::string_view text);

/// The text of a choice, as step_choice_from() takes it.
std::string to_string(const StepChoice&);

/// The name of a range without the number at its end, and that number: "batch 12" is "batch" and 12. The name of a step
/// (step_name()) may have more after its number.
struct NumberedName {
  std::string family;
  std::optional<std::int32_t> number;
};
NumberedName numbered_name(std::string_view name);

}  // namespace underlap::analysis
