// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "bench/tune/job.hpp"
#include "impl/plan/modes/mode_rules.hpp"

namespace underlap::bench {

/// Every way to split the job's model over its GPUs and its batch into microbatches, without recomputation: sizes of
/// tensor, pipeline, virtual pipeline and context parallelism, and sequences per microbatch. Sizes divide what they
/// split, but for pipelines: their layers may be dealt out unevenly, if the busiest stage has little more than the
/// mean. Data parallelism takes the remaining ranks. Unless the file has other values, tensor parallelism stays in a
/// node, and context parallelism leaves each rank 2,048 tokens of a sequence. A rule of the plan may still refuse a
/// layout.
std::vector<Choices> layouts_of(const TuneJob& job);

/// How much of each model chunk is recomputed, from nothing to everything: each step frees memory and costs time. The
/// settings are added to a layout; the first is empty.
std::vector<Choices> recomputations(const TuneJob& job, const plan::Config& layout);

/// The overlap knobs that have an effect in a layout, without fixed ones.
std::vector<plan::SearchAxis> overlap_axes(const TuneJob& job, const plan::Config& layout);

/// Overlap knobs that each hide communication on their own, and the settings that switch each one off.
struct OverlapSwitch {
  std::string name;  ///< for readers
  Choices off;
};

/// Those that are on in `config`.
std::vector<OverlapSwitch> switches_on(const plan::Config& config);

}  // namespace underlap::bench
