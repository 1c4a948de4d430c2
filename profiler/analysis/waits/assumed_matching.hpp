// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "profiler/analysis/matching.hpp"

namespace underlap::analysis {

/// The number of ranks of the job: the number that the trace states, but at least the number of ranks in it.
std::int32_t num_ranks_of_job(const Trace&);

/// What describes a group that holds all ranks because nothing else is known.
NameId assumed_group_description();

/// Adds to `result` the collectives of a trace whose slices name no communicator: the first of each rank is one, the
/// second of each, and so on.
///
/// That is taken for true only where every rank runs the same kernels in the same order, and each collective, after the
/// ranks' clocks were put to one another, has a moment at which all members run. Where the ranks' whole sequences
/// differ, those of their streams are tried, the first stream with communication of one rank against the first of the
/// others. `by_start`: the communication slices of each rank in order of their starts. Otherwise counts them as
/// unmatched, with the reason.
void match_assumed(const Trace&, const std::map<std::int32_t, std::vector<std::uint32_t>>& by_start, Matching& result);

}  // namespace underlap::analysis
