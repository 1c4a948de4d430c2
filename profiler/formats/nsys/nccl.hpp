// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "profiler/formats/nsys/import.hpp"
#include "profiler/formats/nsys/ranges.hpp"
#include "profiler/formats/nsys/ranks.hpp"

namespace underlap::formats::nsys {

/// Gives NCCL's kernels their communication records: those of the calls in whose range, or at the end of whose group,
/// they were launched. If several kernels were launched at once and the calls do not show which kernel carried which
/// call, they get no record, and are counted.
///
/// `call_of_work` as read_calls() returns it. Call this before Ranks::apply(), which renames tracks' owners.
void add_communication(Import&, std::vector<NcclCall>, const std::vector<std::uint32_t>& call_of_work,
                       const Communicators&, const Ranks&);

}  // namespace underlap::formats::nsys
