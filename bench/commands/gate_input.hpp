// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "profiler/compare/run_figures.hpp"

namespace underlap::bench {

/// The runs that `path` names, in their order: a saved baseline, the folder of a run, of `run --runs`, of several runs
/// or of several folders of traces, a trace, or a shell's pattern that fits some of these. Throws
/// std::invalid_argument, naming the place, where it names no run, and for a run that is not whole.
std::vector<compare::RunFigures> runs_named(const std::string& path);

}  // namespace underlap::bench
