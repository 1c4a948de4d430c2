// SPDX-License-Identifier: Apache-2.0
//
// Weight gradients that the backward passes of the last stage deferred, computed while the pipeline drains.
//
// Every other stage waits for the last one's input gradients, so in its backward passes the head computes only these.
// Its reduce-scatter is then exposed, since the weight's GEMM used to overlap with it. The deferred work runs when the
// last stage has nothing else to do. The input of the next microbatch is gathered during the GEMM of this one: two
// buffers alternate.
//
//   compute |           | wgrad 0  | wgrad 1  | wgrad 2  |
//   tp      | gather 0  | gather 1 | gather 2 |              exposed: the first gather, and the time by which each
//                                                            later one is longer than the GEMM during it
//
// Source: Megatron Core's drain_embedding_wgrad_compute.
#include <array>

#include "impl/tp/technique.hpp"
#include "kernels/gemm/gemm.hpp"

namespace underlap::tp {
namespace {

class DoubleBufferedDrain final : public WgradDrain {
 public:
  explicit DoubleBufferedDrain(const Context& context)
      : device_(context.communicators->device()),
        compute_(context.communicators->compute()),
        scope_(context.communicators->scope()),
        gathers_(context.communicators->collectives()),
        gather_(context.purpose("all_gather")),
        wgrad_(intern(context.slot)),
        buffers_{context.allocate_whole(), context.allocate_whole()} {}

  void run(std::span<const DeferredWgrad> wgrads, const View& main_grad) override {
    scope_.fork({gathers_.stream});
    Event gathered = gather(wgrads, 0);
    for (std::size_t i = 0; i < wgrads.size(); ++i) {
      device_.wait(compute_, gathered);
      // The next input's buffer is that of the GEMM before this one.
      if (i > 0 && i + 1 < wgrads.size()) scope_.fork({gathers_.stream});
      if (i + 1 < wgrads.size()) gathered = gather(wgrads, i + 1);
      Tag tag = wgrads[i].tag;
      tag.purpose = wgrad_;
      device_.launch(compute_, tag, kernels::gemm_wgrad(wgrads[i].dy, buffers_.at(i % 2), main_grad));
    }
  }

 private:
  Event gather(std::span<const DeferredWgrad> wgrads, std::size_t i) {
    const Transfer transfer{.collective = Collective::all_gather, .input = wgrads[i].x, .output = buffers_.at(i % 2)};
    return scope_.communicate(gathers_, wgrads[i].tag, gather_, {transfer});
  }

  Device& device_;
  Stream compute_;
  Scope scope_;
  Communicator gathers_;
  NameId gather_;
  NameId wgrad_;
  std::array<View, 2> buffers_;
};

const WgradDrains::Register kRegistered{{
    .name = "double_buffered_drain",
    .summary = "computes deferred weight gradients, each during the gather of the next one's input",
    .exposed = "the first gather, and the time by which each other gather exceeds a GEMM",
    .keys = {},
    .facts = {.knob = "comm_overlap.defer_embedding_wgrad_compute", .purposes = {"head_wgrad_all_gather"}},
    .make = [](const Context& context) -> std::unique_ptr<WgradDrain> {
      return std::make_unique<DoubleBufferedDrain>(context);
    },
}};

}  // namespace
}  // namespace underlap::tp
