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

/// Fields of `run:`, by dotted path, as written on a command line; empty: not given.
using RunFields = std::map<std::string, std::string>;

/// The group of the options that add_run_fields() adds.
inline constexpr const char* kRunFieldGroup = "Fields of run";

/// Adds a flag of the same name for each field to a command, unless it has such a flag.
void add_run_fields(CLI::App& command, RunFields& fields);

std::vector<plan::Override> overrides_of(const RunFields& fields);
/// The equivalent flags: "--link-gbps", "4".
std::vector<std::string> flags_of(const RunFields& fields);

}  // namespace underlap::bench
