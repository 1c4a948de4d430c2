// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "profiler/analysis/trace_summary.hpp"

namespace underlap::analysis {

/// Whether waiting is a notable part of an exposed time: at least 10 % of it.
constexpr bool is_wait_notable(double wait_ns, double exposed_ns) { return wait_ns > 0 && wait_ns >= 0.1 * exposed_ns; }

/// WaitReport::late_rank() if waiting is_wait_notable() in the typical steps of the ranks.
inline std::optional<LateRank> notable_late_rank(const Summary& summary) {
  double wait_ns = 0, exposed_ns = 0;
  for (const RankSummary& rank : summary.shown()) {
    wait_ns += typical(rank, [](const Split& split) { return split.exposed_wait_ns; });
    exposed_ns += typical(rank, [](const Split& split) { return split.exposed_ns(); });
  }
  return summary.waits && is_wait_notable(wait_ns, exposed_ns) ? summary.waits->late_rank() : std::nullopt;
}

}  // namespace underlap::analysis
