// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "impl/plan/plan.hpp"

namespace CLI {
class App;
}

namespace underlap::bench {

/// Fields of `run:`, by dotted path, as they were written on a command line; empty: not written.
using RunFields = std::map<std::string, std::string>;

/// Gives a command a flag for each, of the same name, unless it has such a flag.
void add_run_fields(CLI::App& command, RunFields& fields);

std::vector<plan::Override> overrides_of(const RunFields& fields);
/// The flags that say the same: "--link-gbps", "4".
std::vector<std::string> flags_of(const RunFields& fields);

}  // namespace underlap::bench
