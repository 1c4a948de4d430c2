// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "profiler/report/scaling/scaling.hpp"

namespace underlap::report {

/// The report on folders of runs, or of series of runs, as a person names them. Calls `at` with each path before it is
/// read. Throws as scaling_of() and read_results() do, and std::invalid_argument for a folder that holds no run.
ScalingReport read_scaling(const std::vector<std::string>& paths, bool is_forced,
                           const std::function<void(const std::string& path)>& at);

}  // namespace underlap::report
