// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "bench/tune/job.hpp"
#include "impl/plan/modes/mode_rules.hpp"

namespace underlap::bench {

/// Every way to cut the job's model over its GPUs and its batch into microbatches, without recomputation: sizes of
/// tensor, pipeline, virtual pipeline and context parallelism that divide what they cut, and sequences a microbatch.
/// Data parallelism takes the rest. Tensor parallelism stays in a node, and context parallelism leaves a rank 2,048
/// tokens of a sequence, unless the file says otherwise. A rule of the plan may still refuse a layout.
std::vector<Choices> layouts_of(const TuneJob& job);

/// How much of each model chunk is recomputed, from nothing to everything: each step frees memory and costs time.
/// Settings to lay over a layout; the first is empty.
std::vector<Choices> recomputations(const TuneJob& job, const plan::Config& layout);

/// The overlap knobs that mean something in a layout, those that are kept left out.
std::vector<plan::SearchAxis> overlap_axes(const TuneJob& job, const plan::Config& layout);

/// Overlap knobs of which each hides communication by itself, and how each is switched off.
struct OverlapSwitch {
  std::string name;  ///< as a reader calls it
  Choices off;
};

/// Those that are on in `config`.
std::vector<OverlapSwitch> switches_on(const plan::Config& config);

}  // namespace underlap::bench
