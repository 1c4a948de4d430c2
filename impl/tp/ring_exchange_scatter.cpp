// SPDX-License-Identifier: Apache-2.0
//
// Reduce-scatter divided into exchanges between pairs of ranks, each during the GEMM of the next rows; the sum is
// local.
//
// Rank r multiplies the rows of rank r+1 first and its own last. As soon as the rows of a rank are computed they are
// sent to it, while rows that another rank computed for this one arrive. Each rank ends with n partial results for its
// own rows and adds them in the order of their slots.
//
//   gemm 0  | gemm r+1 |          |          | gemm r   |
//   gemm 1  |          | gemm r+2 |          |          |
//   gemm 2  |          |          | gemm r+3 |          |
//   tp_ring |          | to r+1 | to r+2 |   | to r+3 |        |
//   compute |                                              | sum |
//
// Exposed: the time by which the last exchange, or any before it, is longer than the GEMM during it. The sum is
// additional work, and so are buffers of 2n - 1 parts. GEMM i waits for GEMM i-2, which keeps GEMMs in the order that
// the exchanges need.
// Source: Transformer Engine's userbuffers, ring exchange reduce-scatter (pairwise, and not round a ring, as there).
//
// fp8_ring_exchange_scatter makes the same exchanges with half the bytes: a rank casts its results for other ranks to
// fp8 first.
//
//   gemm 0  | gemm r+1 | cast |                 | gemm r | cast |
//   gemm 1  |          | gemm r+2 | cast |      |
//   gemm 2  |                     | gemm r+3 | cast |
//   tp_ring |                 | to r+1 |   | to r+2 | to r+3 |
//   compute |                                                   | sum |
//
// Exposed: the time by which the last exchange, or any before it, is longer than the GEMM and the cast during it. Casts
// and the sum are additional work; a cast fills the tail of the next GEMM. Each part has a scale, which is sent with
// it. The sum is computed in fp32 and is bf16.
// Source: Transformer Engine's userbuffers, ring exchange reduce-scatter with fp8_buf.
#include <algorithm>
#include <optional>
#include <vector>

#include "impl/tp/fp8_parts.hpp"
#include "kernels/reduction/reduction.hpp"

namespace underlap::tp {
namespace {

class RingExchangeScatter final : public GemmScatter {
 public:
  RingExchangeScatter(const Context& context, bool in_fp8)
      : context_(context),
        scope_(context.communicators->scope()),
        ring_(context.communicators->ring()),
        streams_(context.communicators->gemm_streams()),
        hop_(context.purpose("ring_hop")),
        sum_(context.purpose("ring_sum")) {
    const std::int64_t num_slots = 2 * context.num_parts() - 1;
    if (in_fp8)
      fp8_.emplace(context, num_slots, context.num_parts(), context.tokens_of_part(), context.features);
    else
      partials_ = context.communicators->device().allocate(context.slot, DataType::bf16,
                                                           num_slots * context.tokens_of_part() * context.features);
  }

  void run(const TokenGemm& gemm, const View& in, const View& out) override {
    Device& device = context_.communicators->device();
    const std::int32_t n = context_.communicators->group().size();
    const std::int32_t me = context_.communicators->group().my_index;
    const auto used = streams_.first(std::min<std::size_t>(streams_.size(), static_cast<std::size_t>(n)));
    scope_.fork(used);
    std::vector<Event> done;
    for (std::int32_t i = 0; i < n; ++i) {
      const std::size_t s = static_cast<std::size_t>(i) % used.size();
      if (i >= 2) device.throttle(used[s], done[static_cast<std::size_t>(i - 2)]);
      const std::int64_t first = (me + i + 1) % n * context_.tokens_of_part();
      device.launch(used[s], gemm.tag,
                    gemm.rows(rows_of(in, first, context_.tokens_of_part()), fp8_ ? fp8_->product(s) : slot(i)));
      if (fp8_) fp8_->cast(gemm.tag, used[s], s, i);
      done.push_back(device.record(used[s]));
      if (i > 0) exchange(gemm.tag, i, done[static_cast<std::size_t>(i - 1)]);
    }
    scope_.join({used[static_cast<std::size_t>(n - 1) % used.size()], ring_.stream});  // exchanges follow all others
    // This rank's rows, from itself and then from every other.
    scope_.launch(gemm.tag, Kind::compute, sum_,
                  fp8_ ? kernels::sum_fp8_slots(fp8_->values(n - 1, n), fp8_->inverse_scales(n - 1, n), out)
                       : kernels::sum_slots(own_slots(), flat_of(out), 1));
  }

 private:
  View slot(std::int32_t i) const {
    return matrix(partials_, context_.tokens_of_part(), context_.features,
                  i * context_.tokens_of_part() * context_.features);
  }
  View own_slots() const {
    const std::int64_t elements = context_.tokens_of_part() * context_.features;
    return matrix(partials_, context_.num_parts(), elements, (context_.num_parts() - 1) * elements);
  }
  static View flat_of(const View& view) { return flat(view.tensor, view.offset, view.elements()); }

  // Sends what GEMM i-1 made to the rank whose rows it is, once it is `made`.
  void exchange(const Tag& tag, std::int32_t i, Event made) {
    const std::int32_t n = context_.communicators->group().size();
    const std::int32_t to = (context_.communicators->group().my_index + i) % n;
    const std::int32_t from = (context_.communicators->group().my_index - i + n) % n;
    const std::int32_t arriving = i - 1 + n;
    context_.communicators->device().wait(ring_.stream, made);
    if (!fp8_)
      scope_.communicate(ring_, tag, hop_, {send_to(to, slot(i - 1)), receive_from(from, slot(arriving))});
    else
      scope_.communicate(
          ring_, tag, hop_,
          {send_to(to, fp8_->values(i - 1)), send_to(to, fp8_->inverse_scales(i - 1)),
           receive_from(from, fp8_->values(arriving)), receive_from(from, fp8_->inverse_scales(arriving))});
  }

  Context context_;
  Scope scope_;
  Communicator ring_;
  std::span<const Stream> streams_;
  NameId hop_;
  NameId sum_;
  // [2n - 1, T/n, F]: what this rank makes for the others and for itself, then what it is sent.
  Tensor partials_;  // bf16
  std::optional<Fp8Parts> fp8_;
};

const GemmScatters::Register kRegistered{{
    .name = "ring_exchange_scatter",
    .summary = "sends each rank its rows during the GEMM of the next rank's, and adds what arrives",
    .exposed = "the time by which an exchange exceeds the GEMM of one rank's rows, and the sum",
    .keys = {{.method = plan::TensorMethod::ring_exchange}},
    .facts = {.knob = "comm_overlap.tp_comm_overlap", .sums = SumOrder::differs, .purposes = {"ring_hop"}},
    .make = make_of<RingExchangeScatter, false>,
}};

const GemmScatters::Register kInFp8{{
    .name = "fp8_ring_exchange_scatter",
    .summary = "sends each rank its rows in fp8 during the GEMM of the next rank's, and sums what arrives",
    .exposed = "the time by which an exchange exceeds the GEMM of one rank's rows, the casts and the sum",
    .keys = {{.method = plan::TensorMethod::ring_exchange, .with = {"fp8_buf"}}},
    .facts = {.knob = "comm_overlap.tp_comm_overlap", .sums = SumOrder::differs, .purposes = {"ring_hop"}},
    .make = make_of<RingExchangeScatter, true>,
}};

}  // namespace
}  // namespace underlap::tp
