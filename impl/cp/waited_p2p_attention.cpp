// SPDX-License-Identifier: Apache-2.0
//
// The ring of p2p_attention, every hop waited for: the same tiles in the same order, on one stream.
//
//   compute | kv |       | tile 0 |       | tile 1 | merge |       | tile 2 | tile 3 | corrections |
//   cp_ring |    | hop 0 |        | hop 1 |                | hop 2 |
//
// Exposed: all hops, in backward too. No framework runs it so; it is what p2p_attention's overlap is measured against.
#include "impl/cp/ring_attention.hpp"

namespace underlap::cp {
namespace {

const Attentions::Register kRegistered{{
    .name = "waited_p2p_attention",
    .summary = "passes keys and values round a ring and waits for each hop",
    .exposed = "every hop",
    .keys = {{.alone = false, .comm_type = plan::CpCommType::p2p, .overlap = false}},
    .make = [](const Context& context) -> std::unique_ptr<Attention> {
      return std::make_unique<RingAttention>(context, Waits::at_once);
    },
}};

}  // namespace
}  // namespace underlap::cp
