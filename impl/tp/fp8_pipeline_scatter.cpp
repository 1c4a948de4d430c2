// SPDX-License-Identifier: Apache-2.0
//
// The splits of pipeline_scatter with half the bytes: a split is cast to fp8 and exchanged during the GEMM of the next,
// and each rank adds the parts that it receives.
//
//   gemm 0  | split 0 | cast |        |        | split 3 | cast |
//   gemm 1  |        | split 1 | cast |        |
//   gemm 2  |                 | split 2 | cast |
//   tp_sm24 |               | 0 |    | 1 |    | 2 |
//   tp_sm32 |                                                 | 3 |
//   compute |                                              sums 0 to 2 | sum 3 |
//
// Exposed: the exchange of the last split, and the time by which an earlier one is longer than the GEMM and the cast of
// a split. NCCL cannot add fp8, so a split is an all-to-all of its parts and an all-gather of the ranks' scales. The
// sum, in fp32 and written as bf16 to the split's columns, replaces pipeline_scatter's copy.
// Source: Transformer Engine's userbuffers, pipelined reduce-scatter with fp8_buf; its kernel adds while it moves.
#include <algorithm>
#include <vector>

#include "impl/tp/fp8_parts.hpp"
#include "kernels/reduction/reduction.hpp"

namespace underlap::tp {
namespace {

constexpr int kSmsOfLastSplit = 32;

class Fp8PipelineScatter final : public GemmScatter {
 public:
  explicit Fp8PipelineScatter(const Context& context)
      : context_(context),
        scope_(context.communicators->scope()),
        under_gemm_(context.communicators->beside_gemm(context.overlap.num_sm, context.overlap.cga_size)),
        last_(context.communicators->beside_gemm(std::max(context.overlap.num_sm, kSmsOfLastSplit),
                                                 context.overlap.cga_size)),
        streams_(context.communicators->gemm_streams()),
        exchange_(context.purpose("all_to_all")),
        sum_(context.purpose("split_sum")),
        splits_(context, num_splits(), num_splits(), context.tokens, features()),
        received_(
            context.communicators->device().allocate(context.slot, context.dtype, context.tokens * context.features)),
        scales_(context.communicators->device().allocate(context.slot, DataType::f32,
                                                         num_splits() * context.num_parts())) {}

  void run(const TokenGemm& gemm, const View& in, const View& out) override {
    Device& device = context_.communicators->device();
    const auto used = streams_.first(std::min(streams_.size(), static_cast<std::size_t>(num_splits())));
    scope_.fork(used);
    std::vector<Event> arrived;
    for (std::int32_t i = 0; i < num_splits(); ++i) {
      const std::size_t s = static_cast<std::size_t>(i) % used.size();
      device.launch(used[s], gemm.tag, gemm.split(in, i * features(), splits_.product(s)));
      splits_.cast(gemm.tag, used[s], s, i);
      arrived.push_back(exchange(gemm.tag, i, device.record(used[s])));
    }
    for (std::int32_t i = 0; i < num_splits(); ++i) {
      device.wait(context_.communicators->compute(), arrived[static_cast<std::size_t>(i)]);
      scope_.launch(gemm.tag, Kind::compute, sum_, kernels::sum_fp8_slots(received(i), scales(i), columns(out, i)));
    }
  }

 private:
  std::int32_t num_splits() const { return context_.overlap.num_splits; }
  std::int64_t features() const { return context_.features / num_splits(); }

  // Every rank's part of split i for the rows of this one, [T, F / num_splits], and their scales.
  View received(std::int32_t i) const {
    return matrix(received_, context_.tokens, features(), i * context_.tokens * features());
  }
  View scales(std::int32_t i) const { return flat(scales_, i * context_.num_parts(), context_.num_parts()); }
  View columns(View out, std::int32_t i) const {
    out.offset += i * features();
    out.cols = features();
    return out;
  }

  // Once split i is `made`. Returns when its parts are where they are added up.
  Event exchange(const Tag& tag, std::int32_t i, Event made) {
    Device& device = context_.communicators->device();
    const bool is_last = i + 1 == num_splits();
    const Communicator& communicator = is_last ? last_ : under_gemm_;
    device.wait(communicator.stream, made);
    if (is_last) device.throttle(last_.stream, device.record(under_gemm_.stream));
    return scope_.communicate(
        communicator, tag, exchange_,
        {{.collective = Collective::all_to_all, .input = splits_.values(i), .output = received(i)},
         {.collective = Collective::all_gather, .input = splits_.inverse_scales(i), .output = scales(i)}});
  }

  Context context_;
  Scope scope_;
  Communicator under_gemm_;
  Communicator last_;
  std::span<const Stream> streams_;
  NameId exchange_;
  NameId sum_;
  Fp8Parts splits_;
  Tensor received_;  // fp8, a dense [T, F / num_splits] each
  Tensor scales_;    // f32 [num_splits, n]
};

const GemmScatters::Register kRegistered{{
    .name = "fp8_pipeline_scatter",
    .summary = "exchanges each split of output features in fp8 during the GEMM of the next split, and sums it",
    .exposed = "the last split's exchange, the casts, and the sums of the splits into their columns",
    .keys = {{.method = plan::TensorMethod::pipeline, .with = {"fp8_buf"}}},
    .facts = {.knob = "comm_overlap.tp_comm_overlap", .sums = SumOrder::may_differ, .purposes = {"all_to_all"}},
    .make = [](const Context& context) -> std::unique_ptr<GemmScatter> {
      return std::make_unique<Fp8PipelineScatter>(context);
    },
}};

}  // namespace
}  // namespace underlap::tp
