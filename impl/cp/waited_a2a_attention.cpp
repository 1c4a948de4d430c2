// SPDX-License-Identifier: Apache-2.0
//
// Heads for tokens as in a2a_attention, every all-to-all waited for.
//
//   compute | q |     | k |     | q | v |     | k | v | attention | out |     | out |
//   cp      |   | q   |   | k   |       | v   |                         | out |
//
// Exposed: every all-to-all, and reordering has nothing beside it.
#include "impl/cp/head_exchange.hpp"

namespace underlap::cp {
namespace {

const Attentions::Register kRegistered{{
    .name = "waited_a2a_attention",
    .summary = "exchanges heads for tokens and waits for each tensor, attends and exchanges back",
    .exposed = "every all-to-all",
    .keys = {{.alone = false, .comm_type = plan::CpCommType::a2a, .overlap = false}},
    .make = [](const Context& context) -> std::unique_ptr<Attention> {
      return std::make_unique<ExchangedAttention>(context, Waits::at_once, context.channels->group().size(), false);
    },
}};

}  // namespace
}  // namespace underlap::cp
