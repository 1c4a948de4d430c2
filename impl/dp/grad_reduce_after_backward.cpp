// SPDX-License-Identifier: Apache-2.0
//
// Gradient reduction without overlap: one group of collectives after the backward pass.
//
//   compute | bwd 3 | bwd 2 | bwd 1 | bwd 0 |           | optimizer
//   dp      |                               | rs of all |
//
// Exposed: all of it. Without any overlap there is one bucket and so one collective; where parameters are gathered
// bucket by bucket, all buckets are reduced in one group, which costs what one collective of their sum costs. With
// several optimizer instances a group of all-reduces across them follows. Source: Megatron Core's finish_grad_sync with
// overlap_grad_reduce off.
#include "impl/dp/reduction.hpp"

namespace underlap::dp {
namespace {

class GradReduceAfterBackward final : public GradReduce {
 public:
  explicit GradReduceAfterBackward(const Context& context) : reduction_(context) {}

  void begin_step(std::int32_t step) override { reduction_.begin_step(step); }

  void after_wgrad(std::span<const std::int32_t> parameters) override { reduction_.count(parameters); }

  void finish() override {
    reduction_.check_all_ready();
    reduction_.send(reduction_.all_buckets());
    reduction_.wait();
  }

 private:
  BucketReduction reduction_;
};

const GradReduces::Register kRegistered{{.name = "grad_reduce_after_backward",
                                         .summary = "reduces all gradients in one group after the backward pass",
                                         .exposed = "all of it",
                                         .keys = {{.overlap = false}},
                                         .facts = {.knob = "comm_overlap.overlap_grad_reduce",
                                                   .overlaps = false,
                                                   .purposes = {"grad_reduce_scatter", "grad_all_reduce"}},
                                         .make = make_of<GradReduceAfterBackward>}};

}  // namespace
}  // namespace underlap::dp
