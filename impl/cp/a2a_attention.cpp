// SPDX-License-Identifier: Apache-2.0
//
// Heads for tokens: all-to-alls give each rank all tokens of some heads, and attention needs nothing else.
//
//   compute    | q | k | v |                 | attention | out |       |
//   cp_compute |       | q | k     | v   |               |     |     | out |
//   cp         |   | q    | k    | v    |                      | out |
//
// Letters on compute are a tensor made ready to be sent, on cp_compute one put in its place. Backward exchanges the
// gradient of the output, then attends, then exchanges those of q, k and v: as many bytes as forward.
//
// Exposed: every all-to-all; beside one there is no more than the reordering of another tensor.
// Source: Jacobs et al. 2023 (DeepSpeed-Ulysses); Transformer Engine's context parallelism, cp_comm_type a2a.
#include "impl/cp/head_exchange.hpp"

namespace underlap::cp {
namespace {

const Attentions::Register kRegistered{{
    .name = "a2a_attention",
    .summary = "exchanges heads for tokens, one tensor while the next is reordered, attends and exchanges back",
    .exposed = "every all-to-all",
    .keys = {{.alone = false, .comm_type = plan::CpCommType::a2a, .overlap = true}},
    .make = [](const Context& context) -> std::unique_ptr<Attention> {
      return std::make_unique<ExchangedAttention>(context, Waits::where_needed, context.channels->group().size(),
                                                  false);
    },
}};

}  // namespace
}  // namespace underlap::cp
