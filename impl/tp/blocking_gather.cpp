// SPDX-License-Identifier: Apache-2.0
//
// All-gather, then one GEMM.
//
//   compute |           | gemm                  |
//   tp      | all-gather |                           exposed: the all-gather, whole
//
// What Megatron and Transformer Engine run without userbuffers in the forward pass of column-parallel layers and in the
// dgrad of row-parallel ones (Korthikanti et al. 2022, section 4.2).
#include "impl/tp/technique.hpp"

namespace underlap::tp {
namespace {

class BlockingGather final : public GatherGemm {
 public:
  explicit BlockingGather(const Context& context)
      : device_(context.communicators->device()),
        compute_(context.communicators->compute()),
        collectives_(*context.communicators),
        purpose_(context.purpose("all_gather")),
        gathered_(context.allocate_whole()) {}

  void run(const TokenGemm& gemm, const View& in, const View& out) override {
    collectives_.all_gather(gemm.tag, purpose_, in, gathered_);
    device_.launch(compute_, gemm.tag, gemm.rows(gathered_, out));
  }

  View gathered() const override { return gathered_; }

 private:
  Device& device_;
  Stream compute_;
  Collectives collectives_;
  NameId purpose_;
  View gathered_;
};

const GatherGemms::Register kRegistered{{
    .name = "blocking_gather",
    .summary = "gathers the input, then multiplies",
    .exposed = "the all-gather",
    .keys = {},
    .facts = {.knob = "comm_overlap.tp_comm_overlap", .overlaps = false, .purposes = {"all_gather"}},
    .make = make_of<BlockingGather>,
}};

}  // namespace
}  // namespace underlap::tp
