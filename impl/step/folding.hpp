// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "impl/plan/config/parallel_config.hpp"

namespace underlap::plan {
struct Config;
}

namespace underlap {

/// Which ranks are simulated in virtual time, and which ranks each of them represents.
///
/// Ranks of a tensor-parallel group do the same at the same time, and so do data-parallel replicas: only the first is
/// simulated. All pipeline stages and context-parallel ranks are simulated, since stages differ and context-parallel
/// ranks have tiles of their own. A coordinate is not folded if its ranks have their peers at different distances, or
/// if optimizer instances cut context-parallel groups unevenly.
struct Folding {
  bool tensor = false;                       ///< of tensor-parallel ranks the first is simulated for all
  bool data = false;                         ///< likewise of data-parallel ones
  bool context = false;                      ///< likewise of context-parallel ones; see fold_nearly_alike()
  std::vector<std::int32_t> simulated = {};  ///< global ranks, rising
  std::string reason = {};                   ///< where run.fold is true and fewer coordinates fold than there are: why

  /// The rank that is simulated for `rank`, which may be itself.
  std::int32_t simulated_for(const plan::ParallelConfig& parallel, std::int32_t rank) const;
};

/// The folding of `config` where `gpus_per_node` ranks share a node; with run.fold false every rank is simulated.
Folding fold_ranks(const plan::Config& config, std::int32_t gpus_per_node);

/// The same for an estimate: if peers are equally far apart, the first context-parallel rank represents all of them
/// too. The others compute as much as it does, in tiles of other shapes.
/// Fails when these tiles take different times: the estimate is then that of the first rank.
Folding fold_nearly_alike(const plan::Config& config, std::int32_t gpus_per_node);

}  // namespace underlap
