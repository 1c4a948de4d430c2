// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/tune/candidate.hpp"
#include "bench/tune/job.hpp"

namespace underlap::bench {

/// The layout that needs the least memory, if none fits.
struct SmallestNeed {
  Choices choices;
  std::int64_t bytes = 0;                   ///< predicted for a GPU
  std::optional<std::int64_t> enough_gpus;  ///< with so many GPUs and the same batch a layout fits; nullopt: not found
  std::string advice;                       ///< a change that fits on the same GPUs, as plan::advice_on_memory()
};

/// The layouts of a job by whether they fit in the memory of a GPU.
struct FittingLayouts {
  std::vector<Candidate> fitting;  ///< each with its usual overlap, and the least recomputation that makes it fit
  std::size_t layouts = 0;         ///< all
  std::map<std::string, std::size_t> refused;  ///< by the plan's reason
  std::size_t too_large = 0;                   ///< do not fit even if everything is recomputed
  std::size_t too_deep = 0;  ///< dropped: with far more pipeline stages than the same layout needs to fit
  std::optional<SmallestNeed> smallest_need = {};  ///< if nothing fits
};

/// Plans every layout, on all cores.
FittingLayouts fitting_layouts(const TuneJob& job);

/// Whether the predicted memory of a plan is within the job's limit.
bool fits(const TuneJob& job, const plan::Plan& plan);

}  // namespace underlap::bench
