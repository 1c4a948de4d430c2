// SPDX-License-Identifier: Apache-2.0
//
// ZB-H1, zero-bubble pipelining with at most as many microbatches in flight as 1F1B. The backward pass is split into B,
// the gradient of the input, which the previous stage waits for, and W, the weight gradients, which nothing waits for.
// Forward passes and B run in the order of 1F1B, so gradients travel back through the stages without waiting for W.
// Stage s defers W by s microbatches, and fills the time that 1F1B leaves idle at the end with the last of them. Every
// stage then has p microbatches in flight, like the first stage of 1F1B. Three stages, four microbatches, exchanges
// left out:
//
//   stage 0 | F0 | F1 | F2 |    |    | B0 | W0 | F3 | B1 | W1 | B2 | W2 | B3 | W3 |
//   stage 1 |    | F0 | F1 |    | B0 | F2 | B1 | W0 | F3 | B2 | W1 | B3 | W2 | W3 |
//   stage 2 |    |    | F0 | B0 | F1 | B1 | F2 | B2 | W0 | F3 | B3 | W1 | W2 | W3 |
//
// Idle: (p-1)(F + B - W) on each stage, a third of 1F1B's (p-1)(F + B + W) if the three take equally long. A stage has
// nothing to do while the first activation and the first gradient pass through p-1 stages. The deferred W fill (p-1) W
// of that time. If W takes longer than F or B, the shortest of the three replaces it in the formula.
// Exposed: the exchange after F, as in 1F1B. The exchange after B overlaps with W, except for the first s of stage s.
//
// Source: Qi et al. 2024, Zero Bubble Pipeline Parallelism, section 2.1. Here W are computed in the order of
// microbatches, so that losses are bitwise equal to those of 1F1B.
#include <algorithm>

#include "impl/plan/config.hpp"
#include "impl/pp/technique.hpp"

namespace underlap::pp {
namespace {

constexpr Direction kForward = Direction::forward, kBackward = Direction::backward;

void write(Script& script) {
  const Schedule& schedule = script.schedule();
  const std::int64_t warmup = schedule.num_warmup(), all = schedule.num_passes();
  const std::int64_t put_off = std::min<std::int64_t>(schedule.stage(), all);
  for (std::int64_t k = 0; k < warmup; ++k) {
    script.exchange({script.receive(kForward, k)});
    script.forward(k);
    script.exchange({script.send(kForward, k)});
  }
  script.exchange({warmup < all ? script.receive(kForward, warmup) : script.receive(kBackward, 0)});
  for (std::int64_t k = 0; k < all; ++k) {
    const auto fill = [&] {
      if (k >= put_off) script.wgrad(k - put_off);
    };
    if (k + warmup < all) {
      script.forward(k + warmup);
      script.exchange({script.send(kForward, k + warmup), script.receive(kBackward, k)});
    }
    script.dgrad(k);
    const bool is_last = k + 1 == all;
    if (k + warmup + 1 < all || is_last) {
      script.exchange({script.send(kBackward, k), is_last ? std::nullopt : script.arrival(kForward, k + warmup)}, fill);
    } else {
      // Two exchanges: when this gradient is sent, the next one to receive has yet to be computed.
      script.post({script.send(kBackward, k)});
      script.exchange({script.receive(kBackward, k + 1)}, fill);
      script.await(script.send(kBackward, k));
    }
  }
  for (std::int64_t k = all - put_off; k < all; ++k) script.wgrad(k);
}

std::string refusal(const plan::Config& config) {
  if (config.parallel.is_interleaved())
    return "it runs without virtual stages, but virtual_pipeline_model_parallel_size is set";
  return config.pipeline.overlap_p2p_comm
             ? "it overlaps exchanges only with weight gradients, but overlap_p2p_comm is true"
             : "";
}

const RegisterSchedule kRegistered{{
    .name = "zb_h1",
    .summary = "runs 1F1B and defers weight gradients to times when it would idle",
    .exposed = "the exchange after a forward pass; the exchange after a dgrad until weight gradients hide it",
    .refusal = refusal,
    .write = write,
    .splits_backward = true,
    .overlaps = true,
    .knob = "extensions.pipeline_schedule",
}};

}  // namespace
}  // namespace underlap::pp
