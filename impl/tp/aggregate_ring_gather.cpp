// SPDX-License-Identifier: Apache-2.0
//
// The ring of ring_exchange_gather with two ranks' rows a hop.
//
// Neighbours 2i and 2i+1 first swap their rows. Then pairs of slots travel around a ring of n/2, from each rank to the
// rank two further on. Half as many GEMMs, each twice as tall.
//
//   compute | copy |
//   gemm 0  |      |      | gemm pair p   |               |
//   gemm 1  |      |      |               | gemm pair p-1 |
//   tp_ring |      | swap | hop p-1       |                        (n = 4)
//
// Exposed: the whole swap, since no GEMM has its rows before it, and the time by which a hop is longer than the GEMM
// during it. It is worthwhile if n GEMMs of one rank's rows are too small to fill the machine.
// Source: Transformer Engine's userbuffers, ring exchange with `aggregate`.
#include <algorithm>

#include "impl/tp/technique.hpp"
#include "kernels/copy/copy.hpp"

namespace underlap::tp {
namespace {

class AggregateRingGather final : public GatherGemm {
 public:
  explicit AggregateRingGather(const Context& context)
      : context_(context),
        scope_(context.communicators->scope()),
        ring_(context.communicators->ring()),
        streams_(context.communicators->gemm_streams()),
        copy_(context.purpose("copy_in")),
        swap_(context.purpose("ring_swap")),
        hop_(context.purpose("ring_hop")),
        gathered_(context.allocate_whole()) {}

  void run(const TokenGemm& gemm, const View& in, const View& out) override {
    Device& device = context_.communicators->device();
    const std::int32_t num_pairs = context_.communicators->group().size() / 2;
    scope_.launch(gemm.tag, Kind::copy, copy_, kernels::copy(in, slots(gathered_, me(), 1)));
    scope_.fork({ring_.stream});
    Event arrived = swap(gemm.tag);
    const auto used = streams_.first(std::min<std::size_t>(streams_.size(), static_cast<std::size_t>(num_pairs)));
    for (std::int32_t i = 0; i < num_pairs; ++i) {
      const std::int32_t pair = (me() / 2 - i + num_pairs) % num_pairs;
      const Stream stream = used[static_cast<std::size_t>(i) % used.size()];
      device.wait(stream, arrived);
      device.launch(stream, gemm.tag, gemm.rows(slots(gathered_, 2 * pair, 2), slots(out, 2 * pair, 2)));
      if (i + 1 < num_pairs) arrived = hop(gemm.tag, pair, (pair - 1 + num_pairs) % num_pairs);
    }
    scope_.join(used);
  }

  View gathered() const override { return gathered_; }

 private:
  std::int32_t me() const { return context_.communicators->group().my_index; }

  View slots(const View& whole, std::int32_t first, std::int32_t num) const {
    return rows_of(whole, first * context_.tokens_of_part(), num * context_.tokens_of_part());
  }

  Event swap(const Tag& tag) {
    const std::int32_t neighbour = me() ^ 1;
    return scope_.communicate(
        ring_, tag, swap_,
        {send_to(neighbour, slots(gathered_, me(), 1)), receive_from(neighbour, slots(gathered_, neighbour, 1))});
  }

  // Forwards one pair of slots to the rank two further on while another arrives from the one two before.
  Event hop(const Tag& tag, std::int32_t sent, std::int32_t received) {
    const std::int32_t n = context_.communicators->group().size();
    return scope_.communicate(ring_, tag, hop_,
                              {send_to((me() + 2) % n, slots(gathered_, 2 * sent, 2)),
                               receive_from((me() - 2 + n) % n, slots(gathered_, 2 * received, 2))});
  }

  Context context_;
  Scope scope_;
  Communicator ring_;
  std::span<const Stream> streams_;
  NameId copy_;
  NameId swap_;
  NameId hop_;
  View gathered_;
};

const GatherGemms::Register kRegistered{{
    .name = "aggregate_ring_gather",
    .summary = "swaps rows between neighbors, then passes pairs of them around a ring during the GEMM of a pair",
    .exposed = "the swap, and the time by which a hop exceeds the GEMM of two ranks' rows",
    .keys = {{.method = plan::TensorMethod::ring_exchange, .with = {"aggregate"}}},
    .facts = {.knob = "comm_overlap.tp_comm_overlap", .purposes = {"ring_swap", "ring_hop"}},
    .make = [](const Context& context) -> std::unique_ptr<GatherGemm> {
      return std::make_unique<AggregateRingGather>(context);
    },
}};

}  // namespace
}  // namespace underlap::tp
