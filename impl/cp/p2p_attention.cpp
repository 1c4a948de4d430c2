// SPDX-License-Identifier: Apache-2.0
//
// Keys and values round a ring, each hop under the attention of those that are there already.
//
// Forward alternates over two streams, so that one fills the tail of the other's last wave, and merges log-sums beside
// attention. Zigzag gives all tiles behind the first as many pairs on every rank.
//
//   compute    | kv | tile 0 |        | merge | tile 2 |       | merge | corrections |
//   cp_compute |             | tile 1 |                | merge | tile 3 |              (c = 4)
//   cp_ring    |    | hop 0 | hop 1 | hop 2 |
//
// Exposed: what a hop takes longer than the tile beside it. Corrections are compute that one rank would not have, and
// all c pairs of keys and values stay in memory until forward ends.
//
// Backward has one stream, and each of its steps ends with a wait for the gradients that arrive beside it.
//
//   compute | tile 0 |     | tile 1 |     | sum | tile 2 |    | sum | tile 3 | sum |
//   cp_ring | kv         | | kv, dkv      |     | kv, dkv     |     | dkv |
//
// Exposed: what a step's transfer takes longer than its tile; keys and gradients travel together, so it is twice as
// long as in forward, as is the tile.
// A hop runs on multiprocessors and is posted in front of its tile. That is enough with CUDA_DEVICE_MAX_CONNECTIONS=1;
// with more, a tile may start first and leave it none, and NCCL's streams have to be of high priority.
// Source: Liu et al. 2023 (ring attention); Transformer Engine's context parallelism, cp_comm_type p2p. It issues a
// hop's send and receive as one group, or in an order that depends on the rank; here they are always one group.
#include "impl/cp/ring_attention.hpp"

namespace underlap::cp {
namespace {

const Attentions::Register kRegistered{{
    .name = "p2p_attention",
    .summary = "passes keys and values round a ring, each hop under the attention of those that came before",
    .exposed = "what a hop takes longer than the attention tile beside it",
    .keys = {{.alone = false, .comm_type = plan::CpCommType::p2p, .overlap = true}},
    .make = [](const Context& context) -> std::unique_ptr<Attention> {
      return std::make_unique<RingAttention>(context, Waits::where_needed);
    },
}};

}  // namespace
}  // namespace underlap::cp
