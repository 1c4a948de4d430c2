// SPDX-License-Identifier: Apache-2.0
//
// One GEMM, then reduce-scatter.
//
//   compute | gemm                  |                |
//   tp      |                       | reduce-scatter |      exposed: the reduce-scatter, whole
//
// What Megatron and Transformer Engine run without userbuffers in the forward pass of row-parallel layers
// (Korthikanti et al. 2022, section 4.2).
#include "impl/tp/technique.hpp"

namespace underlap::tp {
namespace {

class WaitedScatter final : public GemmScatter {
 public:
  explicit WaitedScatter(const Site& site)
      : device_(site.channels->device()),
        compute_(site.channels->compute()),
        collectives_(*site.channels),
        purpose_(site.purpose("reduce_scatter")),
        partial_(site.allocate_whole()) {}

  void run(const TokenGemm& gemm, const View& in, const View& out) override {
    device_.launch(compute_, gemm.tag, gemm.rows(in, partial_));
    collectives_.reduce_scatter(gemm.tag, purpose_, partial_, out);
  }

 private:
  Device& device_;
  Stream compute_;
  Collectives collectives_;
  NameId purpose_;
  View partial_;  // [T, F]: this rank's part of the sum
};

const GemmScatters::Register kRegistered{{
    .name = "waited_scatter",
    .summary = "multiplies, then reduces and scatters the output",
    .exposed = "the reduce-scatter",
    .in_effect =
        [](const plan::TensorSlotOverlap& o) {
          return o.method != plan::TensorMethod::ring_exchange && o.method != plan::TensorMethod::pipeline;
        },
    .make = [](const Site& site) -> std::unique_ptr<GemmScatter> { return std::make_unique<WaitedScatter>(site); },
}};

}  // namespace
}  // namespace underlap::tp
