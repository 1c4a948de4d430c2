// SPDX-License-Identifier: Apache-2.0
//
// Runs the collective, then the GEMM that does not depend on it.
//
//   compute |            | gemm |
//   tp      | collective |               exposed: the collective, whole
//
// No framework runs it this way: it is the baseline that the others are compared with.
#include "impl/tp/technique.hpp"

namespace underlap::tp {
namespace {

class BlockingCollective final : public CollectiveDuringGemm {
 public:
  explicit BlockingCollective(const Context& context)
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
    device_.throttle(compute_, done);
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
    .name = "blocking_collective",
    .summary = "waits for a collective before the GEMM that does not need it",
    .exposed = "the collective",
    .keys = {{.method = plan::TensorMethod::waited}},
    .facts = {.knob = "extensions.tp_async_collectives",
              .overlaps = false,
              .purposes = {"all_gather", "reduce_scatter", "all_reduce"}},
    .make = [](const Context& context) -> std::unique_ptr<CollectiveDuringGemm> {
      return std::make_unique<BlockingCollective>(context);
    },
}};

}  // namespace
}  // namespace underlap::tp
