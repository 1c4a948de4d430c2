// SPDX-License-Identifier: Apache-2.0
//
// Interleaved 1F1B without overlap: each stage holds several chunks of the model, and a microbatch passes through each
// stage once per chunk. A pass is shorter, so the pipeline fills and drains sooner, but the transferred volume grows
// with the number of chunks. One exchange after each pair of passes carries all messages that are due, both ways, and
// is waited for:
//
//   compute | F4 B0 |   | F5 B1 |   | F6 B2 |
//   pp              | x |       | x |            exposed: every exchange, whole
//
// With virtual_pipeline_model_parallel_size 1 each stage has one chunk, and the order is still this one. Compared with
// plain 1F1B, it has twice as many forward passes before the first backward pass, and one exchange a pair instead of
// two.
//
// Source: Narayanan et al. 2021, section 2.2; Megatron Core's interleaved schedule without overlap_p2p_comm.
#include <cassert>

#include "impl/plan/config.hpp"
#include "impl/pp/script.hpp"
#include "impl/pp/technique.hpp"

namespace underlap::pp {
namespace {

constexpr Direction kForward = Direction::forward, kBackward = Direction::backward;

void write(Script& script) {
  // Within one group, messages from a peer that is both the previous and the next stage cannot be distinguished.
  assert(!script.config().pipeline.batch_p2p_comm || script.schedule().num_stages() > 2 ||
         script.schedule().num_chunks() == 1);
  const std::int64_t warmup = script.schedule().num_warmup(), all = script.schedule().num_passes();
  script.exchange({script.receive(kForward, 0)});
  for (std::int64_t k = 0; k < warmup; ++k) {
    const bool is_last = k == warmup - 1 && warmup < all;
    script.forward(k);
    script.exchange(
        {script.send(kForward, k), script.arrival(kForward, k), is_last ? script.receive(kBackward, 0) : std::nullopt});
  }
  for (std::int64_t k = 0; k < all - warmup; ++k) {
    script.forward(k + warmup);
    script.backward(k);
    script.exchange({script.send(kForward, k + warmup), script.send(kBackward, k), script.arrival(kForward, k + warmup),
                     script.arrival(kBackward, k)});
  }
  if (warmup == all) script.exchange({script.receive(kBackward, 0)});
  for (std::int64_t k = all - warmup; k < all; ++k) {
    script.backward(k);
    script.exchange({script.send(kBackward, k), script.arrival(kBackward, k)});
  }
}

std::string refusal(const plan::Config& config) {
  if (!config.parallel.is_interleaved()) return "it needs virtual_pipeline_model_parallel_size";
  return config.pipeline.overlap_p2p_comm ? "it waits for every exchange, but overlap_p2p_comm is true" : "";
}

const RegisterSchedule kRegistered{{
    .name = "interleaved",
    .summary = "runs 1F1B over virtual stages and waits for one exchange after each pair of passes",
    .exposed = "every exchange",
    .refusal = refusal,
    .write = write,
}};

}  // namespace
}  // namespace underlap::pp
