// SPDX-License-Identifier: Apache-2.0
//
// All-to-alls inside groups of neighbouring ranks and a ring around them, as in a2a_p2p_attention, each waited for.
//
//   compute        | q |     | k |     | q | v |     | k | v | kv |       | tile 0 | tile 1 | merge | ... | out |
//   cp_a2a         |   | q   |   | k   |       | v   |                                                    | out |
//   cp_around_ring |                                              | hop 0 |
//
// Exposed: every all-to-all and every hop.
#include "impl/cp/head_exchange.hpp"

namespace underlap::cp {
namespace {

const Attentions::Register kRegistered{{
    .name = "waited_a2a_p2p_attention",
    .summary = "exchanges heads for tokens inside groups and keys and values around them, and waits for each transfer",
    .exposed = "every all-to-all and every hop",
    .keys = {{.alone = false, .comm_type = plan::CpCommType::a2a_p2p, .overlap = false}},
    .make = [](const Context& context) -> std::unique_ptr<Attention> {
      const auto groups = context.config->context.hierarchical_context_parallel_sizes.value();
      return std::make_unique<ExchangedAttention>(context, Waits::at_once, groups.front(), true);
    },
}};

}  // namespace
}  // namespace underlap::cp
