// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>
#include <string>

#include "profiler/trace/trace.hpp"

namespace underlap::testing_support {

/// What a random trace may hold.
struct RandomTraceShape {
  std::int32_t num_ranks = 2;
  std::int32_t num_streams = 3;
  std::int32_t num_slices = 60;
  std::int64_t begin_ns = -200;  ///< starts lie from here
  std::int64_t end_ns = 400;     ///< to here
  std::int64_t longest_ns = 60;
  std::int32_t num_steps = 3;  ///< marks of each rank, 0: none
  bool is_foreign = false;     ///< also what traces of other profilers hold: calls, ranges, counters, flows, shapes
};

/// Slices anywhere, overlapping or touching, of all kinds and tags, in no order; marks, clocks and metadata.
Trace random_trace(std::mt19937& random, const RandomTraceShape& shape = {});

/// All that a trace says, one line each, without its import report: two traces are equal where these are.
std::string everything(const Trace&);

/// Whether all indices of a trace lead somewhere and nothing ends before it begins.
bool is_sound(const Trace&);

}  // namespace underlap::testing_support
