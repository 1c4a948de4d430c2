// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "bench/commands/help/command_tree.hpp"

namespace underlap::bench {

/// The manual page of `program` in the macros of man(7), section 1. `date`: of what it describes, YYYY-MM-DD.
std::string manual_page(const Command& program, const std::string& version, const std::string& date);

}  // namespace underlap::bench
