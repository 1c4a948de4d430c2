// SPDX-License-Identifier: Apache-2.0
//
// No pipeline: each microbatch forward and backward, one after the other.
//
//   compute | F0 | B0 | F1 | B1 |        exposed: nothing, as nothing is exchanged
//
// Source: gradient accumulation as every framework runs it.
#include "impl/pp/script.hpp"
#include "impl/pp/technique.hpp"

namespace underlap::pp {
namespace {

void write(Script& script) {
  for (std::int64_t k = 0; k < script.schedule().num_passes(); ++k) {
    script.forward(k);
    script.backward(k);
  }
}

const RegisterSchedule kRegistered{{
    .name = "single_stage",
    .summary = "runs microbatches one after the other on one stage",
    .exposed = "nothing",
    .refusal = [](const plan::Config&) -> std::string { return "it is for a single stage"; },
    .write = write,
}};

}  // namespace
}  // namespace underlap::pp
