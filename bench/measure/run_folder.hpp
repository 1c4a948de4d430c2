// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "impl/plan/plan.hpp"

namespace underlap::bench {

/// Makes `folder` and its traces/. Throws std::invalid_argument where it holds a run already, MachineError naming the
/// path and the system's reason where it cannot be made or written.
void prepare_run_folder(const std::filesystem::path& folder);

/// Takes back what prepare_run_folder() made, as far as nothing was put into it.
void forget_empty_run_folder(const std::filesystem::path& folder) noexcept;

/// A hash of everything that a matrix measures: its cells and their effective settings, but not how many blocks.
std::string matrix_hash(const plan::Matrix& matrix);

}  // namespace underlap::bench
