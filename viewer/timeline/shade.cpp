// SPDX-License-Identifier: Apache-2.0
#include "viewer/timeline/shade.hpp"

#include <array>
#include <bit>
#include <cstddef>

namespace underlap::viewer {

std::string_view to_string(Paint paint) {
  static constexpr std::array<std::string_view, kNumPaints> kNames{
      "nothing", "range", "wait", "copy", "compute", "hidden", "exposed", "exposed transfer", "exposed wait"};
  return kNames[static_cast<std::size_t>(paint)];
}

Mode first_mode(std::uint8_t modes) { return modes == 0 ? Mode::none : static_cast<Mode>(std::countr_zero(modes)); }

std::string modes_text(std::uint8_t modes) {
  std::string text;
  for (unsigned mode = 0; mode <= static_cast<unsigned>(Mode::other); ++mode) {
    if ((modes & (1U << mode)) == 0) continue;
    text += text.empty() ? "" : "+";
    text += mode == 0 ? "unattributed" : to_string(static_cast<Mode>(mode));
  }
  return text;
}

}  // namespace underlap::viewer
