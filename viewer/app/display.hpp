// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace underlap::viewer {

/// Why no window can be shown; empty where one can. Qt ends a program without a word that helps.
std::string why_no_display();

}  // namespace underlap::viewer
