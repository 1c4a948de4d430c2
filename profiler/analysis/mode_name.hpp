// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "profiler/trace/tag.hpp"

namespace underlap::analysis {

/// "dp", ...; "unattributed" without a mode.
inline std::string mode_name(Mode mode) { return mode == Mode::none ? "unattributed" : std::string(to_string(mode)); }

/// "grad_reduce_scatter", ...; "unattributed" without a purpose.
inline std::string purpose_name(NameId purpose) {
  return purpose == kNoName ? "unattributed" : std::string(name_of(purpose));
}

}  // namespace underlap::analysis
