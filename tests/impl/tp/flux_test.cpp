// SPDX-License-Identifier: Apache-2.0
// FLUX's two rows on 8 L20 without NVLink: what is listed for GEMM and NCCL comes out of the description, and rings
// over copies of 31 GB/s hide what FLUX hides. E = 1 - (on - T) / (off - T), T being the unsplit GEMM.
//
// By hand. All-gather and GEMM: off is 11.200 + 5.746 ms. A hop of 12.6 MB takes 0.014 + 0.406 ms, less than the 0.718
// of its chunk's GEMM, so all 7 hide; what remains is the copy of the own rows, 25 MB at 864 GB/s and 0.78 or 0.037 ms,
// and 8 chunks of 192 tiles in place of 1536 on 92 multiprocessors, which is nothing once GEMMs of other streams fill
// the tails. E = 1 - 0.037 / 11.2 = 99.7 %.
// GEMM and reduce-scatter: the exchanges hide likewise; 8 partial sums are read and one is written, 113 MB at 864 GB/s
// and 0.9 or 0.146 ms. E = 1 - 0.146 / 12.273 = 98.8 %.

#include "impl/device/sim/machine.hpp"
#include "profiler/analysis/exposure.hpp"
#include "tests/impl/tp/virtual_slot.hpp"
#include "tests/testing.hpp"

namespace underlap::tp {
namespace {

using plan::TensorMethod;

constexpr std::int64_t kHidden = 12288, kInner = 49152 / 8, kTokens = 4096;

struct FluxRow {
  const char* name;
  SlotKind kind;
  double gemm_ms, off_ms, hidden_percent;
};

class FluxL20 : public testing::TestWithParam<FluxRow> {
 protected:
  double step_ms(TensorMethod method) const {
    const SlotCase c{.kind = GetParam().kind,
                     .overlap = {.method = method},
                     .num_ranks = 8,
                     .tokens_of_part = kTokens / 8,
                     .features = kHidden,
                     .others = kInner,
                     .copy_engine = true};
    const Trace trace = VirtualSlot(c).play(*l20_);
    return static_cast<double>(analysis::find_windows(trace).windows.at(0).length_ns()) / 1e6;
  }
  double gemm_ms() const {
    const bool gathers = GetParam().kind == SlotKind::gather;
    const Cost cost{.work = Work::gemm, .extent = {kTokens, gathers ? kInner : kHidden, gathers ? kHidden : kInner}};
    return l20_->kernel(cost).alone_ns / 1e6;
  }

 private:
  std::unique_ptr<sim::TimeModel> l20_ = std::make_unique<sim::CostModel>(sim::load_hardware("l20"));
};
INSTANTIATE_TEST_SUITE_P(Rows, FluxL20,
                         testing::Values(FluxRow{"AllGatherAndGemm", SlotKind::gather, 5.746, 16.946, 95.6},
                                         FluxRow{"GemmAndReduceScatter", SlotKind::scatter, 5.392, 17.664, 97.2}),
                         CaseName());

TEST_P(FluxL20, HidesWhatFluxHides) {
  const double gemm = gemm_ms(), off = step_ms(TensorMethod::nccl), on = step_ms(TensorMethod::ring_exchange);
  EXPECT_NEAR(gemm, GetParam().gemm_ms, 0.001);
  EXPECT_NEAR(off, GetParam().off_ms, 0.02);
  EXPECT_NEAR(100 * (1 - (on - gemm) / (off - gemm)), GetParam().hidden_percent, 5) << on << " ms";
}

}  // namespace
}  // namespace underlap::tp
