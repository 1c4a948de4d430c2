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
//
// blocking_drain computes each after the gather of its own input:
//
//   compute |          | wgrad 0 |          | wgrad 1 |
//   tp      | gather 0 |         | gather 1 |              exposed: every gather, whole
//
// No framework runs it this way: it is the baseline that the overlapped form is compared with.
#include <vector>

#include "impl/tp/technique.hpp"
#include "kernels/gemm/gemm.hpp"

namespace underlap::tp {
namespace {

class Drain final : public WgradDrain {
 public:
  Drain(const Context& context, std::size_t num_buffers)
      : device_(context.communicators->device()),
        compute_(context.communicators->compute()),
        scope_(context.communicators->scope()),
        gathers_(context.communicators->collectives()),
        gather_(context.purpose("all_gather")),
        wgrad_(intern(context.slot)) {
    for (std::size_t i = 0; i < num_buffers; ++i) buffers_.push_back(context.allocate_whole());
  }

  void run(std::span<const DeferredWgrad> wgrads, const View& main_grad) override {
    const bool blocks = buffers_.size() == 1;
    Event gathered;
    for (std::size_t i = 0; i < wgrads.size(); ++i) {
      if (i == 0 || blocks) gathered = gather(wgrads, i, true);
      device_.wait(compute_, gathered);
      // The next input's buffer is that of the GEMM before this one.
      if (!blocks && i + 1 < wgrads.size()) gathered = gather(wgrads, i + 1, i > 0);
      Tag tag = wgrads[i].tag;
      tag.purpose = wgrad_;
      device_.launch(compute_, tag, kernels::gemm_wgrad(wgrads[i].dy, buffer(i), main_grad));
    }
  }

 private:
  const View& buffer(std::size_t i) const { return buffers_[i % buffers_.size()]; }

  // `follows`: after what compute holds.
  Event gather(std::span<const DeferredWgrad> wgrads, std::size_t i, bool follows) {
    if (follows) scope_.fork({gathers_.stream});
    const Transfer transfer{.collective = Collective::all_gather, .input = wgrads[i].x, .output = buffer(i)};
    return scope_.communicate(gathers_, wgrads[i].tag, gather_, {transfer});
  }

  Device& device_;
  Stream compute_;
  Scope scope_;
  Communicator gathers_;
  NameId gather_;
  NameId wgrad_;
  std::vector<View> buffers_;  // that inputs are gathered into in turn
};

const WgradDrains::Register kRegistered{{
    .name = "double_buffered_drain",
    .summary = "computes deferred weight gradients, each during the gather of the next one's input",
    .exposed = "the first gather, and the time by which each other gather exceeds a GEMM",
    .keys = {},
    .facts = {.knob = "comm_overlap.defer_embedding_wgrad_compute", .purposes = {"head_wgrad_all_gather"}},
    .make = make_of<Drain, 2>,
}};

const WgradDrains::Register kBlocking{{
    .name = "blocking_drain",
    .summary = "computes deferred weight gradients, each after the gather of its input",
    .exposed = "every gather",
    .keys = {{.method = plan::TensorMethod::waited}},
    .facts = {.knob = "comm_overlap.defer_embedding_wgrad_compute",
              .overlaps = false,
              .purposes = {"head_wgrad_all_gather"}},
    .make = make_of<Drain, 1>,
}};

}  // namespace
}  // namespace underlap::tp
