// SPDX-License-Identifier: Apache-2.0
//
// NCCL's collective under a GEMM that does not depend on it.
//
//   compute | gemm               |
//   tp      | collective |               exposed: max(0, collective - GEMM)
//
// The collective is sent first, so that with one hardware queue its blocks are there before the GEMM takes every
// multiprocessor; both then share the machine. What Megatron runs without userbuffers in the backward pass of
// column-parallel layers: the gather of the input under dgrad, the reduce-scatter of its output under wgrad, or without
// sequence parallelism its all-reduce (Megatron Core's LinearWithGradAccumulationAndAsyncCommunication).
#include "impl/tp/technique.hpp"

namespace underlap::tp {
namespace {

class AsynchronousCollective final : public CollectiveDuringGemm {
 public:
  explicit AsynchronousCollective(const Context& context)
      : context_(context),
        device_(context.communicators->device()),
        compute_(context.communicators->compute()),
        collectives_(*context.communicators),
        purpose_(context.purpose(to_string(context.collective))),
        full_(context.allocate_whole()) {}

  View full() const override { return full_; }

  void run(const Tag& tag, const View& shard, const Work& work) override {
    const Transfer transfer = context_.transfer(shard, full_);
    const Event done = collectives_.start(tag, purpose_, {&transfer, 1});
    work(compute_);
    device_.wait(compute_, done);
  }

 private:
  Context context_;
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
    .make = [](const Context& context) -> std::unique_ptr<CollectiveDuringGemm> {
      return std::make_unique<AsynchronousCollective>(context);
    },
}};

}  // namespace
}  // namespace underlap::tp
