// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace underlap::plan {

/// known_knobs.yaml, which the program carries.
std::string_view known_knobs_text();

}  // namespace underlap::plan
