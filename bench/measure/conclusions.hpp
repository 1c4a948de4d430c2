// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <vector>

#include "impl/plan/plan.hpp"
#include "profiler/report/results.hpp"

namespace underlap::bench {

/// Adds to the results of measured cells what only all of them together tell, from the traces in `folder`: the bounds
/// of each step, and what became of its compute since overlap off. `cells` are those of `results`, in their order; `at`
/// is told which one it is at. Throws as the reader of traces does.
void conclude(const std::vector<plan::Cell>& cells, report::RunResults& results, const std::filesystem::path& folder,
              const std::function<void(std::size_t cell)>& at);

}  // namespace underlap::bench
