// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "profiler/report/results.hpp"

namespace underlap::bench {

/// Differences that make blocks of `now`, which is to run, not comparable with those of `before`: settings, files,
/// machine and build, one line each, with the old and the new value.
std::vector<std::string> differences(const report::RunResults& before, const report::RunResults& now);

/// The results in `folder`, to continue as `now`: with its blocks_planned, and without blocks if none was finished.
/// Throws std::invalid_argument if they are not results, if they belong to another run, with every difference, or if a
/// block that they count as finished is incomplete.
report::RunResults take_up(const std::filesystem::path& folder, const report::RunResults& now, std::int64_t steps);

}  // namespace underlap::bench
