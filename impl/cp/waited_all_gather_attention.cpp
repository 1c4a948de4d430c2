// SPDX-License-Identifier: Apache-2.0
//
// Keys and values of all ranks gathered, then attention of this rank's two chunks of queries, one after the other.
//
//   compute | k v |       | reorder | tile of chunk r | tile of chunk 2c-1-r |
//   cp      |     | k | v |
//
// Exposed: all collectives, as in all_gather_attention, which differs only in its second compute stream.
#include "impl/cp/gathered_attention.hpp"

namespace underlap::cp {
namespace {

const Attentions::Register kRegistered{{
    .name = "waited_all_gather_attention",
    .summary = "gathers all keys and values, then computes the two chunks of queries one after the other",
    .exposed = "the all-gathers of keys and values, in backward again, and the reduce-scatters of their gradients",
    .keys = {{.alone = false, .comm_type = plan::CpCommType::all_gather, .overlap = false}},
    .make = [](const Context& context) -> std::unique_ptr<Attention> {
      return std::make_unique<GatheredAttention>(context, Waits::at_once);
    },
}};

}  // namespace
}  // namespace underlap::cp
