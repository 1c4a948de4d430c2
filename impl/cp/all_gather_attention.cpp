// SPDX-License-Identifier: Apache-2.0
//
// Keys and values of all ranks gathered, then attention of this rank's two chunks of queries side by side.
//
//   compute    | k v |         | reorder | tile of chunk r      |
//   cp_compute |                         | tile of chunk 2c-1-r |
//   cp         |     | k  | v  |
//
// Backward gathers again, since a gathered sequence is too large to be kept for each layer, and reduces and scatters
// the gradients of keys and values at its end.
//
//   compute    | k v |        | reorder | tile of chunk r      |      | sum, reorder |          | copy |
//   cp_compute |                        | tile of chunk 2c-1-r |
//   cp         |     | k | v  |                                       |              | dk | dv  |
//
// Exposed: all collectives. The tiles run beside each other, which fills tails of waves and hides no communication.
// Source: Dubey et al. 2024 (Llama 3, section 3.3.2); Transformer Engine's context parallelism, cp_comm_type
// all_gather. It adds both tiles' gradients to zeros; here the later tile's, which cover the other's, are the start.
#include "impl/cp/gathered_attention.hpp"

namespace underlap::cp {
namespace {

const Attentions::Register kRegistered{{
    .name = "all_gather_attention",
    .summary = "gathers all keys and values, then computes the two chunks of queries beside each other",
    .exposed = "the all-gathers of keys and values, in backward again, and the reduce-scatters of their gradients",
    .keys = {{.alone = false, .comm_type = plan::CpCommType::all_gather, .overlap = true}},
    .make = [](const Context& context) -> std::unique_ptr<Attention> {
      return std::make_unique<GatheredAttention>(context, Waits::where_needed);
    },
}};

}  // namespace
}  // namespace underlap::cp
