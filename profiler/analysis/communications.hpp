// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "profiler/analysis/arrivals.hpp"
#include "profiler/analysis/matching/communication_matching.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::analysis {

/// A trace's communications over all of its ranks, and how their clocks lie to one another.
struct Communications {
  Matching matching;
  ClockAlignment alignment;
  std::vector<std::int32_t> missing_ranks{};  ///< of the job, by its groups and its size, that have no track; ascending

  /// The offset of a rank's clock from the clock of all ranks, positive where it is fast; 0 where it is unknown.
  std::int64_t offset_ns(std::int32_t rank) const;
  /// A moment of a rank's clock on the clock of all.
  std::int64_t common_ns(std::int32_t rank, std::int64_t time_ns) const;
};

/// Matches the communications of a trace, aligns its clocks on them, and sets the last arrivals that the trace does not
/// have: of collectives, and of messages whose two ends are known, where a slice waits until the last of its peers has
/// come. What exposure.hpp and analysis.hpp give afterwards has wait and transfer.
Communications match_and_align(Trace&);

/// The same of a trace that match_and_align has seen, or whose records need nothing added.
Communications communications_of(const Trace&);

}  // namespace underlap::analysis
