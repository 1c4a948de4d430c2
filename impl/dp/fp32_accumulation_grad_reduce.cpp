// SPDX-License-Identifier: Apache-2.0
//
// Gradient reduction that transfers in the gradients' type and sums in fp32: an all-to-all, then a local sum.
//
// Every rank sends each other rank its share of the bucket, sums what it receives in fp32, and rounds once. A
// reduce-scatter that adds hop by hop rounds after every hop. The sum runs on the compute stream, where the gradients
// are next needed, and a bucket's sum is computed before the next bucket is sent. Both match Megatron, and both cost
// time.
//
//   compute | bwd 3 | bwd 2 | sum 0 | bwd 1 | sum 1 | bwd 0 | sum 2 |         | sum 3 | optimizer
//   dp      |       | a2a 0 |       | a2a 1 |       | a2a 2 |       |  a2a 3  |
//
// Exposed: the last bucket, and an all-to-all longer than the backward pass up to the next complete bucket, for which
// the compute stream then waits. The sums are compute, not communication: they lengthen the step without counting as
// exposed. Without overlap all buckets are exchanged in one group after the backward pass. Source: Megatron Core's
// reduce_scatter_with_fp32_accumulation.
#include "impl/dp/reduction.hpp"
#include "impl/plan/config.hpp"
#include "kernels/reduction/reduction.hpp"

namespace underlap::dp {
namespace {

class Fp32AccumulationGradReduce final : public GradReduce {
 public:
  explicit Fp32AccumulationGradReduce(const Context& context) : context_(context), reduction_(context) {
    const Buffers& buffers = *context.buffers;
    received_ = context.device->allocate("grad_all_to_all", buffers.grads.dtype, buffers.layout.elements);
  }

  void begin_step(std::int32_t step) override { reduction_.begin_step(step); }

  void after_wgrad(std::span<const std::int32_t> parameters) override { send(reduction_.count(parameters)); }

  void start() override { send(reduction_.release()); }

  void finish() override {
    start();
    reduction_.check_all_ready();
    if (!context_.config->ddp.overlap_grad_reduce) send(reduction_.all_buckets());
    drain();
  }

 private:
  void send(const std::vector<std::vector<std::int32_t>>& groups) {
    if (!context_.config->ddp.overlap_grad_reduce) return;
    for (const std::vector<std::int32_t>& buckets : groups) {
      drain();
      send(buckets);
    }
  }

  void send(const std::vector<std::int32_t>& buckets) {
    static const NameId kPurpose = intern("grad_all_to_all");
    const Buffers& buffers = *context_.buffers;
    std::vector<Transfer> transfers;
    for (const std::int32_t b : buckets) {
      reduction_.scale(b);
      transfers.push_back({.collective = Collective::all_to_all,
                           .input = buffers.bucket(buffers.grads, b),
                           .output = buffers.bucket(received_, b)});
    }
    reduction_.send(buckets, kPurpose, transfers);
    in_flight_ = buckets;
  }

  // Sums what has been sent, on the compute stream.
  void drain() {
    static const NameId kPurpose = intern("grad_fp32_sum");
    if (in_flight_.empty()) return;
    const Buffers& buffers = *context_.buffers;
    reduction_.wait();
    const std::int64_t n = buffers.group.size();
    // An all-to-all does not average: with average_in_collective its sum does.
    const double factor = context_.config->ddp.average_in_collective ? 1.0 / static_cast<double>(n) : 1.0;
    for (const std::int32_t b : in_flight_) {
      const View received = buffers.bucket(received_, b);
      context_.scope().launch(reduction_.tag(b), Kind::compute, kPurpose,
                              kernels::sum_slots(matrix(received_, n, received.elements() / n, received.offset),
                                                 buffers.shard(buffers.grads, b), factor));
    }
    in_flight_.clear();
  }

  Context context_;
  BucketReduction reduction_;
  Tensor received_;  // as large as the gradients: what peers sent of this rank's shards
  std::vector<std::int32_t> in_flight_;
};

const GradReduces::Register kRegistered{
    {.name = "fp32_accumulation_grad_reduce",
     .summary = "exchanges each bucket by all-to-all and sums it in fp32 on the compute stream",
     .exposed = "the last bucket, and an all-to-all longer than the backward pass until the next complete bucket",
     .keys = {{.overlap = false, .fp32_accumulation = true}, {.overlap = true, .fp32_accumulation = true}},
     .facts = {.knob = "comm_overlap.overlap_grad_reduce", .purposes = {"grad_all_to_all"}},
     .make = make_of<Fp32AccumulationGradReduce>}};

}  // namespace
}  // namespace underlap::dp
