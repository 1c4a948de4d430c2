// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "profiler/attribution/mode_map.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::viewer {

/// Something that a mode of parallelism can be assigned to.
struct ModeTarget {
  std::string text;            ///< "kernel ncclDevKernel_AllReduce"
  attribution::ModeRule rule;  ///< without a mode
};

/// Whether modes can be assigned: a trace of Underlap keeps its own.
bool takes_modes(const Trace&);

/// The kernels with the name of a slice, its stream, and its process group, as far as they are known. On a stream that
/// also computes, only the kernels of that name. Empty for slices that are no work of a stream.
std::vector<ModeTarget> mode_targets_of(const Trace&, std::uint32_t slice);

/// All kernels of that name.
ModeTarget kernel_target(std::string_view name);

/// Puts `rule` first in a map, in place of rules with the same target.
void assign(attribution::ModeMap&, attribution::ModeRule rule);

/// A rule without the keys that do not select slices.
attribution::ModeRule target_of(const attribution::ModeRule&);

}  // namespace underlap::viewer
