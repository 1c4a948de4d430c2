// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "impl/plan/plan.hpp"
#include "profiler/trace/tag.hpp"

namespace underlap::bench {

/// A knob that asks for overlap, and the communication that it is about.
struct OverlapKnob {
  std::string name;                            ///< as the plan has it
  std::string requested;                       ///< JSON text; null: left to the automatic rule
  std::string effective;                       ///< JSON text
  bool is_asked_for = false;                   ///< by the request or by a rule
  bool is_on = false;                          ///< in effect
  std::string gate;                            ///< why it is not in effect as requested; empty: it is
  std::int64_t group_size = 1;                 ///< ranks that exchange its operations
  bool waits_are_the_schedules = false;        ///< pipelines: waits for other stages, which no overlap could hide
  std::function<bool(const Tag&)> is_its_own;  ///< whether a communication with this tag is one of its operations
};

/// Every knob of `plan` that overlap hangs on, in the order in which they are shown: the switches of data and tensor
/// parallelism, each tensor-parallel slot, pipeline and context parallelism. A knob of another mode is one more row of
/// the table in the source.
std::vector<OverlapKnob> overlap_knobs(const plan::Plan& plan);

}  // namespace underlap::bench
