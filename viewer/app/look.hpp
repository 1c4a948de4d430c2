// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "viewer/theme/theme.hpp"

namespace underlap::viewer {

/// Gives all widgets of the application the colours of a theme.
void apply_look(const Theme&);

}  // namespace underlap::viewer
