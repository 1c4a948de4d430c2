// SPDX-License-Identifier: Apache-2.0
//
// All-to-alls inside groups of neighbouring ranks, and around the groups a ring of keys and values.
//
// Neighbours that have exchanged heads for tokens hold two consecutive stretches of every sequence: chunks of a zigzag
// over groups, which p2p_attention goes round.
//
//   compute    | q | k | v |            | kv | tile 0 |          | corrections | out |      |
//   cp_compute |       | q | k    | v   |       | tile 1 | merge |                   | out |
//   cp_a2a     |   | q   | k   | v  |                                              | out |
//   cp_around_ring                      |    | hop 0 |
//
// The all-to-alls stay where links are fast, and the ring has fewer and longer hops. Backward exchanges the output
// again beside its gradient.
//
// Exposed: every all-to-all, and what a hop takes longer than the tile beside it.
// Source: Fang & Zhao 2024 (unified sequence parallelism); Transformer Engine's context parallelism, cp_comm_type
// a2a+p2p.
#include "impl/cp/head_exchange.hpp"

namespace underlap::cp {
namespace {

const Attentions::Register kRegistered{{
    .name = "a2a_p2p_attention",
    .summary = "exchanges heads for tokens inside groups of neighbours, then passes keys and values round the groups",
    .exposed = "every all-to-all, and what a hop takes longer than the attention tile beside it",
    .keys = {{.alone = false, .comm_type = plan::CpCommType::a2a_p2p, .overlap = true}},
    .make = [](const Context& context) -> std::unique_ptr<Attention> {
      const auto groups = context.config->context.hierarchical_context_parallel_sizes.value();
      return std::make_unique<ExchangedAttention>(context, Waits::where_needed, groups.front(), true);
    },
}};

}  // namespace
}  // namespace underlap::cp
