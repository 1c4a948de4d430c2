// SPDX-License-Identifier: Apache-2.0
//
// NCCL's collective under a GEMM that does not depend on it, and blocking_collective, the same before that GEMM.
//
//   compute | gemm               |
//   tp      | collective |               exposed: max(0, collective - GEMM)
//
// The collective is sent first, so that with one hardware queue its blocks are there before the GEMM takes every
// multiprocessor; both then share the machine. What Megatron runs without userbuffers in the backward pass of
// column-parallel layers: the gather of the input under dgrad, the reduce-scatter of its output under wgrad, or without
// sequence parallelism its all-reduce (Megatron Core's LinearWithGradAccumulationAndAsyncCommunication).
//
//   compute |            | gemm |
//   tp      | collective |               exposed: the collective, whole
//
// No framework runs blocking_collective: it is the baseline that the others are compared with.
#include "impl/tp/technique.hpp"

namespace underlap::tp {
namespace {

class NcclCollective final : public CollectiveDuringGemm {
 public:
  /// `blocks`: the GEMM starts after the collective.
  NcclCollective(const Context& context, bool blocks)
      : context_(context),
        blocks_(blocks),
        device_(context.communicators->device()),
        compute_(context.communicators->compute()),
        collectives_(*context.communicators),
        purpose_(context.purpose(to_string(context.collective))),
        full_(context.allocate_whole()) {}

  View full() const override { return full_; }

  void run(const Tag& tag, const View& shard, const Work& work) override {
    const Event done = collectives_.start(tag, purpose_, context_.transfer(shard, full_));
    if (blocks_) device_.throttle(compute_, done);
    work(compute_);
    device_.wait(compute_, done);
  }

 private:
  Context context_;
  bool blocks_;
  Device& device_;
  Stream compute_;
  Collectives collectives_;
  NameId purpose_;
  View full_;
};

const CollectivesDuringGemm::Register kRegistered{{
    .name = "asynchronous_collective",
    .summary = "runs NCCL's collective during the whole of a GEMM that does not need it",
    .exposed = "the time by which the collective exceeds the GEMM",
    .keys = {},
    .facts = {.knob = "extensions.tp_async_collectives", .purposes = {"all_gather", "reduce_scatter", "all_reduce"}},
    .make = make_of<NcclCollective, false>,
}};

const CollectivesDuringGemm::Register kBlocking{{
    .name = "blocking_collective",
    .summary = "waits for a collective before the GEMM that does not need it",
    .exposed = "the collective",
    .keys = {{.method = plan::TensorMethod::waited}},
    .facts = {.knob = "extensions.tp_async_collectives",
              .overlaps = false,
              .purposes = {"all_gather", "reduce_scatter", "all_reduce"}},
    .make = make_of<NcclCollective, true>,
}};

}  // namespace
}  // namespace underlap::tp
