// SPDX-License-Identifier: Apache-2.0
//
// The exchanges of ring_exchange_scatter with half the bytes: a rank casts its results for other ranks to fp8 first.
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
#include <vector>

#include "impl/tp/fp8_parts.hpp"
#include "kernels/reduction/reduction.hpp"

namespace underlap::tp {
namespace {

class Fp8RingExchangeScatter final : public GemmScatter {
 public:
  explicit Fp8RingExchangeScatter(const Context& context)
      : context_(context),
        scope_(context.communicators->scope()),
        ring_(context.communicators->ring()),
        streams_(context.communicators->gemm_streams()),
        hop_(context.purpose("ring_hop")),
        sum_(context.purpose("ring_sum")),
        parts_(context, 2 * context.num_parts() - 1, context.num_parts(), context.tokens_of_part(), context.features) {}

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
      device.launch(used[s], gemm.tag, gemm.rows(rows_of(in, first, context_.tokens_of_part()), parts_.product(s)));
      parts_.cast(gemm.tag, used[s], s, i);
      done.push_back(device.record(used[s]));
      if (i > 0) exchange(gemm.tag, i, done[static_cast<std::size_t>(i - 1)]);
    }
    scope_.join({used[static_cast<std::size_t>(n - 1) % used.size()], ring_.stream});  // exchanges follow all others
    // This rank's rows, from itself and then from every other.
    scope_.launch(gemm.tag, Kind::compute, sum_,
                  kernels::sum_fp8_slots(parts_.values(n - 1, n), parts_.inverse_scales(n - 1, n), out));
  }

 private:
  // Sends part i-1 to the rank whose rows it is, once it is `made`.
  void exchange(const Tag& tag, std::int32_t i, Event made) {
    const std::int32_t n = context_.communicators->group().size();
    const std::int32_t to = (context_.communicators->group().my_index + i) % n;
    const std::int32_t from = (context_.communicators->group().my_index - i + n) % n;
    const std::int32_t arriving = i - 1 + n;
    context_.communicators->device().wait(ring_.stream, made);
    scope_.communicate(
        ring_, tag, hop_,
        {send_to(to, parts_.values(i - 1)), send_to(to, parts_.inverse_scales(i - 1)),
         receive_from(from, parts_.values(arriving)), receive_from(from, parts_.inverse_scales(arriving))});
  }

  Context context_;
  Scope scope_;
  Communicator ring_;
  std::span<const Stream> streams_;
  NameId hop_;
  NameId sum_;
  Fp8Parts parts_;  // what this rank makes for the others and for itself, then what it is sent
};

const GemmScatters::Register kRegistered{{
    .name = "fp8_ring_exchange_scatter",
    .summary = "sends each rank its rows in fp8 during the GEMM of the next rank's, and sums what arrives",
    .exposed = "the time by which an exchange exceeds the GEMM of one rank's rows, the casts and the sum",
    .keys = {{.method = plan::TensorMethod::ring_exchange, .with = {"fp8_buf"}}},
    .facts = {.knob = "comm_overlap.tp_comm_overlap", .sums = SumOrder::differs, .purposes = {"ring_hop"}},
    .make = [](const Context& context) -> std::unique_ptr<GemmScatter> {
      return std::make_unique<Fp8RingExchangeScatter>(context);
    },
}};

}  // namespace
}  // namespace underlap::tp
