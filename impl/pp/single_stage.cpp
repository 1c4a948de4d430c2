// SPDX-License-Identifier: Apache-2.0
//
// No pipeline: each microbatch forward and backward, one after the other.
//
//   compute | F0 | B0 | F1 | B1 |        exposed: nothing, as nothing is exchanged
//
// Source: gradient accumulation as every framework runs it.
#include "impl/pp/scripted_pipeline.hpp"

namespace underlap::pp {
namespace {

void write(Script& script) {
  for (std::int64_t k = 0; k < script.schedule().num_passes(); ++k) {
    script.forward(k);
    script.backward(k);
  }
}

const Pipelines::Register kRegistered{{
    .name = "single_stage",
    .summary = "runs microbatches one after the other on one stage",
    .exposed = "nothing",
    .in_effect = [](const plan::Config& c) { return c.parallel.pipeline_model_parallel_size == 1; },
    .make = [](const Context& context) { return make_scripted_pipeline(context, write); },
}};

}  // namespace
}  // namespace underlap::pp
