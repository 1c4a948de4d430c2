// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "profiler/report/results.hpp"

namespace underlap::bench {

/// What keeps blocks of `now`, which is to run, from being compared with those of `before`: settings, files, machine
/// and build, a line each, with what was and what is.
std::vector<std::string> differences(const report::RunResults& before, const report::RunResults& now);

/// The results in `folder`, to go on with as `now`: its blocks_planned, and no block where none was finished.
/// Throws std::invalid_argument where they are not results, are those of another run, with every difference, or where a
/// block that they count as finished is not there whole.
report::RunResults take_up(const std::filesystem::path& folder, const report::RunResults& now, std::int64_t steps);

}  // namespace underlap::bench
