// SPDX-License-Identifier: Apache-2.0
//
// Gradient reduction during the backward pass, bucket by bucket.
//
// Buckets are filled from the end of the model, so the first is complete while most of the backward pass is still to
// come. A bucket is sent as soon as its last gradient is there; the optimizer waits for all of them. During the earlier
// microbatches of a step gradients only accumulate: nothing is sent before the last one.
//
//   compute | ... last microbatch: bwd 3 | bwd 2 | bwd 1 | bwd 0 |          | optimizer
//   dp      |                            | rs 0  | rs 1  | rs 2  |   rs 3   |
//
// Exposed: the reduce-scatter of the bucket that is completed last, with the embedding in it, and the time by which an
// earlier one is longer than the backward pass during it. Under a pipeline whose schedule starts the reductions of all
// stages at the same time, complete buckets of a chunk are held until then. They are then sent together, during the
// backward passes of the chunks that follow. With several optimizer instances a bucket's all-reduce across them counts
// with its reduce-scatter (see BucketReduction). Before sending, the compute stream scales the bucket by
// 1 / number of ranks unless average_in_collective leaves that to the collective. Bucket order is known from the model,
// so that buckets overlap from the first step on; Megatron learns its counts in a first step without overlap. Source:
// Megatron Core's DistributedDataParallel with overlap_grad_reduce; PyTorch DDP (Li et al. 2020) before it.
#include "impl/dp/reduction.hpp"

namespace underlap::dp {
namespace {

class OverlappedGradReduce final : public GradReduce {
 public:
  explicit OverlappedGradReduce(const Context& context) : reduction_(context) {}

  void begin_step(std::int32_t step) override { reduction_.begin_step(step); }

  void after_wgrad(std::span<const std::int32_t> parameters) override { send(reduction_.count(parameters)); }

  void start() override { send(reduction_.release()); }

  void finish() override {
    start();
    reduction_.check_all_ready();
    reduction_.wait();
  }

 private:
  void send(const std::vector<std::vector<std::int32_t>>& groups) {
    for (const std::vector<std::int32_t>& buckets : groups) reduction_.send(buckets);
  }

  BucketReduction reduction_;
};

const GradReduces::Register kRegistered{
    {.name = "overlapped_grad_reduce",
     .summary = "reduces each bucket during the backward pass, as soon as its last gradient is ready",
     .exposed = "the last bucket, and transfers longer than the concurrent backward pass",
     .keys = {{.overlap = true}},
     .facts = {.knob = "comm_overlap.overlap_grad_reduce", .purposes = {"grad_reduce_scatter", "grad_all_reduce"}},
     .make = make_of<OverlappedGradReduce>}};

}  // namespace
}  // namespace underlap::dp
