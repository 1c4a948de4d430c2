// SPDX-License-Identifier: Apache-2.0
//
// Computes deferred weight gradients, each after the gather of its own input.
//
//   compute |          | wgrad 0 |          | wgrad 1 |
//   tp      | gather 0 |         | gather 1 |              exposed: every gather, whole
//
// No framework runs it this way: it is the baseline that the overlapped form is compared with.
#include "impl/tp/technique.hpp"
#include "kernels/gemm/gemm.hpp"

namespace underlap::tp {
namespace {

class BlockingDrain final : public WgradDrain {
 public:
  explicit BlockingDrain(const Context& context)
      : device_(context.communicators->device()),
        compute_(context.communicators->compute()),
        collectives_(*context.communicators),
        gather_(context.purpose("all_gather")),
        wgrad_(intern(context.slot)),
        full_(context.allocate_whole()) {}

  void run(std::span<const DeferredWgrad> wgrads, const View& main_grad) override {
    for (const DeferredWgrad& w : wgrads) {
      collectives_.all_gather(w.tag, gather_, w.x, full_);
      Tag tag = w.tag;
      tag.purpose = wgrad_;
      device_.launch(compute_, tag, kernels::gemm_wgrad(w.dy, full_, main_grad));
    }
  }

 private:
  Device& device_;
  Stream compute_;
  Collectives collectives_;
  NameId gather_;
  NameId wgrad_;
  View full_;
};

const WgradDrains::Register kRegistered{{
    .name = "blocking_drain",
    .summary = "computes deferred weight gradients, each after the gather of its input",
    .exposed = "every gather",
    .keys = {{.method = plan::TensorMethod::waited}},
    .facts = {.knob = "comm_overlap.defer_embedding_wgrad_compute",
              .overlaps = false,
              .purposes = {"head_wgrad_all_gather"}},
    .make = [](const Context& context) -> std::unique_ptr<WgradDrain> {
      return std::make_unique<BlockingDrain>(context);
    },
}};

}  // namespace
}  // namespace underlap::tp
