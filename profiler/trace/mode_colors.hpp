// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "profiler/trace/tag.hpp"

namespace underlap {

/// 0xRRGGBB, on a light and on a dark background.
struct ModeColor {
  std::uint32_t light = 0, dark = 0;
};

/// By Mode. Color-blind readers can distinguish them. Source: Okabe & Ito 2008. Unattributed communication (none) is
/// not gray, which would look like compute.
inline constexpr std::array<ModeColor, kNumModes> kModeColors{{{0x6b21c8, 0x8f45ff},
                                                               {0x0072b2, 0x2286d8},
                                                               {0xe69f00, 0xe69f00},
                                                               {0xd55e00, 0xf0701a},
                                                               {0xcc79a7, 0xcc79a7},
                                                               {0x009e73, 0x1cc495},
                                                               {0x56b4e9, 0xa6dcff},
                                                               {0xc9b81a, 0xf0e442}}};

/// Modes whose colors are used for series other than modes, the most different first.
inline constexpr std::array kModesOfSeries{Mode::pp, Mode::ep, Mode::cp, Mode::tp, Mode::fsdp};

}  // namespace underlap
