// SPDX-License-Identifier: Apache-2.0
//
// One GEMM, then reduce-scatter, or without sequence parallelism all-reduce.
//
//   compute | gemm                  |                |
//   tp      |                       | reduce-scatter |      exposed: the collective, whole
//
// What Megatron and Transformer Engine run without userbuffers in the forward pass of row-parallel layers
// (Korthikanti et al. 2022, section 4.2; with an all-reduce Shoeybi et al. 2019, section 3).
#include "impl/tp/technique.hpp"

namespace underlap::tp {
namespace {

class BlockingScatter final : public GemmScatter {
 public:
  explicit BlockingScatter(const Context& context)
      : context_(context),
        device_(context.communicators->device()),
        compute_(context.communicators->compute()),
        collectives_(*context.communicators),
        purpose_(context.purpose(to_string(context.collective))),
        partial_(context.allocate_whole()) {}

  void run(const TokenGemm& gemm, const View& in, const View& out) override {
    device_.launch(compute_, gemm.tag, gemm.rows(in, context_.is_in_place() ? out : partial_));
    collectives_.run(gemm.tag, purpose_, context_.transfer(out, partial_));
  }

 private:
  Context context_;
  Device& device_;
  Stream compute_;
  Collectives collectives_;
  NameId purpose_;
  View partial_;  // [T, F]: this rank's part of the sum; in place none
};

const GemmScatters::Register kRegistered{{
    .name = "blocking_scatter",
    .summary = "multiplies, then reduces and scatters the output, or all-reduces it",
    .exposed = "the reduce-scatter or all-reduce",
    .keys = {},
    .facts = {.knob = "comm_overlap.tp_comm_overlap", .overlaps = false, .purposes = {"reduce_scatter", "all_reduce"}},
    .make = make_of<BlockingScatter>,
}};

}  // namespace
}  // namespace underlap::tp
