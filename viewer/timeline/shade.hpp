// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "profiler/trace/tag.hpp"

namespace underlap::viewer {

/// What a moment of a lane is. Of two that share a pixel the later one must not vanish.
enum class Paint : std::uint8_t {
  nothing,
  range,  ///< a call of the host, or an annotation
  wait,   ///< of a stream or a thread, for another
  copy,
  compute,
  hidden,            ///< communication under compute of its rank
  exposed_unsplit,   ///< communication under no compute, of which the last arrival is not known
  exposed_transfer,  ///< the same, after the last member arrived
  exposed_wait       ///< the same, before it
};

inline constexpr int kNumPaints = static_cast<int>(Paint::exposed_wait) + 1;

constexpr bool is_exposed(Paint paint) { return paint >= Paint::exposed_unsplit; }

/// "compute", "exposed wait", ...
std::string_view to_string(Paint);

/// A paint and the modes of parallelism that it is of: those that communicate at once, each a bit.
struct Shade {
  Paint paint = Paint::nothing;
  std::uint8_t modes = 0;

  friend bool operator==(const Shade&, const Shade&) = default;
};

constexpr std::uint8_t bit_of(Mode mode) { return static_cast<std::uint8_t>(1U << static_cast<unsigned>(mode)); }

/// The first mode of `modes`; Mode::none, which is unattributed communication, if `modes` is empty.
Mode first_mode(std::uint8_t modes);

/// "dp", "dp+tp", "unattributed": the names that analysis::Split has.
std::string modes_text(std::uint8_t modes);

}  // namespace underlap::viewer
