// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "profiler/trace/trace.hpp"

namespace underlap::analysis {

// Ranks that exchange no arrival stamps, as those of NCCL, learn from each other's starts when the last one came.

/// Whether the last arrival of any communication is unknown.
bool lacks_arrivals(const Trace& trace);

/// The part of a rank's trace that is needed to find them: its communications without a last arrival, and its clock.
Trace open_part(const Trace& trace);

/// The last arrivals of such parts, one of each rank of a cell: for each of a part's slices, in their order, on its
/// rank's clock; -1 where there is none.
std::vector<std::vector<std::int64_t>> last_arrivals(std::span<const Trace> parts);

/// Sets them in the trace that the part was taken from. Throws std::invalid_argument for another number of them.
void set_arrivals(Trace& trace, std::span<const std::int64_t> last_arrivals_ns);

}  // namespace underlap::analysis
