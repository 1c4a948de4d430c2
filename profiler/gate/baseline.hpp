// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "profiler/compare/run_figures.hpp"

namespace underlap::gate {

using compare::RunFigures;

/// The file of a baseline in its folder: what a gate reads of one or more runs, in kilobytes.
inline constexpr const char* kBaselineFile = "baseline.json";

/// Throws std::invalid_argument, naming the runs, where no gate could take them as one side: another backend, kind of
/// link or work, other cells, or one run twice.
void check_baseline(const std::vector<RunFigures>& runs);

/// JSON, schema underlap.baseline/1; the same runs give the same text.
std::string baseline_text(const std::vector<RunFigures>& runs);
/// The JSON Schema of baseline_text(), as JSON text.
std::string baseline_json_schema();

/// The reverse. Throws std::invalid_argument with file, place and reason.
std::vector<RunFigures> read_baseline(const std::filesystem::path& file);

}  // namespace underlap::gate
