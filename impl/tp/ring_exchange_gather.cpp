// SPDX-License-Identifier: Apache-2.0
//
// All-gather divided into hops of a ring, each during the GEMM of the rows that have already arrived.
//
// A buffer has a slot for each rank's rows. Rank r copies its own rows to slot r and multiplies them at once. Meanwhile
// they are sent to the next rank's slot r, and slot r-1 arrives from the previous rank. Then rank r multiplies and
// forwards slot r-1, and so on around the ring. GEMMs alternate over three streams, so that one fills the tail of
// another's last wave.
//
//   gemm 0  | copy | gemm r   |          | gemm r-3 |          |
//   gemm 1  |      |          | gemm r-1 |          |          |
//   gemm 2  |      |          |     | gemm r-2 |    |          |
//   tp_ring |      | hop r-1 | hop r-2 | hop r-3 |             |
//
// Exposed: the time by which a hop is longer than the GEMM during it; the first GEMM waits for no hop. The cost is the
// copy, and the tails of n small GEMMs in place of one large one, which with few rows exceeds the gather.
// Source: Transformer Engine's userbuffers, ring exchange all-gather; Wang et al. 2023 (decomposition with peer
// copies).
//
// aggregate_ring_gather passes two ranks' rows a hop. Neighbors 2i and 2i+1 first swap their rows. Then pairs of slots
// travel around a ring of n/2, from each rank to the rank two further on. Half as many GEMMs, each twice as tall.
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

class RingGather final : public GatherGemm {
 public:
  /// `per_hop`: slots that travel together, 1 or 2.
  RingGather(const Context& context, std::int32_t per_hop)
      : context_(context),
        per_hop_(per_hop),
        scope_(context.communicators->scope()),
        ring_(context.communicators->ring()),
        streams_(context.communicators->gemm_streams()),
        copy_(context.purpose("copy_in")),
        swap_(per_hop == 2 ? context.purpose("ring_swap") : kNoName),
        hop_(context.purpose("ring_hop")),
        gathered_(context.allocate_whole()) {}

  void run(const TokenGemm& gemm, const View& in, const View& out) override {
    Device& device = context_.communicators->device();
    const std::int32_t num = n() / per_hop_;
    scope_.launch(gemm.tag, Kind::copy, copy_, kernels::copy(in, slots(gathered_, me(), 1)));
    const auto used = streams_.first(std::min<std::size_t>(streams_.size(), static_cast<std::size_t>(num)));
    Event arrived;
    if (per_hop_ == 1) {
      scope_.fork({used.front(), ring_.stream});  // the other streams begin after a hop
    } else {
      scope_.fork({ring_.stream});
      arrived = swap(gemm.tag);
    }
    for (std::int32_t i = 0; i < num; ++i) {
      const std::int32_t place = (me() / per_hop_ - i + num) % num;
      const Stream stream = used[static_cast<std::size_t>(i) % used.size()];
      if (i > 0 || per_hop_ == 2) device.wait(stream, arrived);
      device.launch(stream, gemm.tag, gemm.rows(at(gathered_, place), at(out, place)));
      if (i + 1 < num) arrived = hop(gemm.tag, place, (place - 1 + num) % num);
    }
    scope_.join(used);
  }

  View gathered() const override { return gathered_; }

 private:
  std::int32_t n() const { return context_.communicators->group().size(); }
  std::int32_t me() const { return context_.communicators->group().my_index; }

  View slots(const View& whole, std::int32_t first, std::int32_t num) const {
    return rows_of(whole, first * context_.tokens_of_part(), num * context_.tokens_of_part());
  }
  // The slots that travel together as the one, or the pair, `place`.
  View at(const View& whole, std::int32_t place) const { return slots(whole, per_hop_ * place, per_hop_); }

  Event swap(const Tag& tag) {
    const std::int32_t neighbor = me() ^ 1;
    return scope_.communicate(
        ring_, tag, swap_,
        {send_to(neighbor, slots(gathered_, me(), 1)), receive_from(neighbor, slots(gathered_, neighbor, 1))});
  }

  // Forwards slots to the rank that many further on while others arrive from the one as many before.
  Event hop(const Tag& tag, std::int32_t sent, std::int32_t received) {
    return scope_.communicate(ring_, tag, hop_,
                              {send_to((me() + per_hop_) % n(), at(gathered_, sent)),
                               receive_from((me() - per_hop_ + n()) % n(), at(gathered_, received))});
  }

  Context context_;
  std::int32_t per_hop_;
  Scope scope_;
  Communicator ring_;
  std::span<const Stream> streams_;
  NameId copy_;
  NameId swap_;
  NameId hop_;
  View gathered_;
};

const GatherGemms::Register kRegistered{{
    .name = "ring_exchange_gather",
    .summary = "passes rows around a ring, each hop during the GEMM of the rows that arrived before",
    .exposed = "the time by which a hop exceeds the GEMM of one rank's rows",
    .keys = {{.method = plan::TensorMethod::ring_exchange}},
    .facts = {.knob = "comm_overlap.tp_comm_overlap", .purposes = {"ring_hop"}},
    .make = make_of<RingGather, 1>,
}};

const GatherGemms::Register kAggregate{{
    .name = "aggregate_ring_gather",
    .summary = "swaps rows between neighbors, then passes pairs of them around a ring during the GEMM of a pair",
    .exposed = "the swap, and the time by which a hop exceeds the GEMM of two ranks' rows",
    .keys = {{.method = plan::TensorMethod::ring_exchange, .with = {"aggregate"}}},
    .facts = {.knob = "comm_overlap.tp_comm_overlap", .purposes = {"ring_swap", "ring_hop"}},
    .make = make_of<RingGather, 2>,
}};

}  // namespace
}  // namespace underlap::tp
