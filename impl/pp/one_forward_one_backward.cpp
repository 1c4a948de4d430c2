// SPDX-License-Identifier: Apache-2.0
//
// 1F1B: a stage runs forward passes until the first gradient can arrive, then alternates forward and backward passes,
// then runs the remaining backward passes. So it keeps one microbatch more than there are stages after it. Every
// exchange is posted when its data is due, and waited for at once. The last but one of its stages (x: an exchange):
//
//   compute | F0 |   | F1 |   | B0 |   | F2 |   | B1 | ...
//   pp           | x |    | x |    | x |    | x |          exposed: every exchange, whole, and any wait for the peer
//
// batch_p2p_comm sends and receives in one group on one communicator. Under batch_p2p_sync the host waits for the
// device after each group, so that it no longer runs ahead. Without batch_p2p_comm each message has a link of its own.
//
// Source: Narayanan et al. 2019 and 2021; Megatron Core's schedule without interleaving.
#include "impl/plan/config.hpp"
#include "impl/pp/script.hpp"
#include "impl/pp/technique.hpp"

namespace underlap::pp {
namespace {

constexpr Direction kForward = Direction::forward, kBackward = Direction::backward;

void write(Script& script) {
  const std::int64_t warmup = script.schedule().num_warmup(), all = script.schedule().num_passes();
  for (std::int64_t k = 0; k < warmup; ++k) {
    script.exchange({script.receive(kForward, k)});
    script.forward(k);
    script.exchange({script.send(kForward, k)});
  }
  if (warmup < all) script.exchange({script.receive(kForward, warmup)});
  for (std::int64_t k = 0; k < all - warmup; ++k) {
    script.forward(k + warmup);
    script.exchange({script.send(kForward, k + warmup), script.receive(kBackward, k)});
    script.backward(k);
    script.exchange({script.send(kBackward, k), script.arrival(kForward, k + warmup)});
  }
  for (std::int64_t k = all - warmup; k < all; ++k) {
    script.exchange({script.receive(kBackward, k)});
    script.backward(k);
    script.exchange({script.send(kBackward, k)});
  }
}

std::string refusal(const plan::Config& config) {
  if (config.parallel.is_interleaved())
    return "it runs without virtual stages, but virtual_pipeline_model_parallel_size is set";
  return config.pipeline.overlap_p2p_comm ? "it waits for every exchange, but overlap_p2p_comm is true" : "";
}

const RegisterSchedule kRegistered{{
    .name = "one_forward_one_backward",
    .summary = "runs 1F1B without virtual stages and waits for every exchange",
    .exposed = "every exchange",
    .refusal = refusal,
    .write = write,
}};

}  // namespace
}  // namespace underlap::pp
