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
#include <algorithm>

#include "impl/tp/technique.hpp"
#include "kernels/copy/copy.hpp"

namespace underlap::tp {
namespace {

class RingExchangeGather final : public GatherGemm {
 public:
  explicit RingExchangeGather(const Context& context)
      : context_(context),
        scope_(context.communicators->scope()),
        ring_(context.communicators->ring()),
        streams_(context.communicators->gemm_streams()),
        copy_(context.purpose("copy_in")),
        hop_(context.purpose("ring_hop")),
        gathered_(context.allocate_whole()) {}

  void run(const TokenGemm& gemm, const View& in, const View& out) override {
    Device& device = context_.communicators->device();
    const std::int32_t n = context_.communicators->group().size();
    const std::int32_t me = context_.communicators->group().my_index;
    scope_.launch(gemm.tag, Kind::copy, copy_, kernels::copy(in, part(gathered_, me)));
    const auto used = streams_.first(std::min<std::size_t>(streams_.size(), static_cast<std::size_t>(n)));
    scope_.fork({used.front(), ring_.stream});  // the other streams begin after a hop
    Event arrived;
    for (std::int32_t i = 0; i < n; ++i) {
      const std::int32_t slot = (me - i + n) % n;
      const Stream stream = used[static_cast<std::size_t>(i) % used.size()];
      if (i > 0) device.wait(stream, arrived);
      device.launch(stream, gemm.tag, gemm.rows(part(gathered_, slot), part(out, slot)));
      if (i + 1 < n) arrived = hop(gemm.tag, slot, (slot - 1 + n) % n);
    }
    scope_.join(used);
  }

  View gathered() const override { return gathered_; }

 private:
  View part(const View& whole, std::int32_t slot) const {
    return rows_of(whole, slot * context_.tokens_of_part(), context_.tokens_of_part());
  }

  // Forwards one slot to the next rank while another arrives from the one before.
  Event hop(const Tag& tag, std::int32_t sent, std::int32_t received) {
    const std::int32_t n = context_.communicators->group().size();
    const std::int32_t me = context_.communicators->group().my_index;
    return scope_.communicate(
        ring_, tag, hop_,
        {send_to((me + 1) % n, part(gathered_, sent)), receive_from((me - 1 + n) % n, part(gathered_, received))});
  }

  Context context_;
  Scope scope_;
  Communicator ring_;
  std::span<const Stream> streams_;
  NameId copy_;
  NameId hop_;
  View gathered_;
};

const GatherGemms::Register kRegistered{{
    .name = "ring_exchange_gather",
    .summary = "passes rows around a ring, each hop during the GEMM of the rows that arrived before",
    .exposed = "the time by which a hop exceeds the GEMM of one rank's rows",
    .keys = {{.method = plan::TensorMethod::ring_exchange}},
    .facts = {.knob = "comm_overlap.tp_comm_overlap", .purposes = {"ring_hop"}},
    .make = [](const Context& context) -> std::unique_ptr<GatherGemm> {
      return std::make_unique<RingExchangeGather>(context);
    },
}};

}  // namespace
}  // namespace underlap::tp
