// SPDX-License-Identifier: Apache-2.0
//
// GEMM in splits of output features; each split is reduced and scattered during the GEMM of the next.
//
//   gemm 0  | split 0 |        |        | split 3 |
//   gemm 1  |        | split 1 |        |        |
//   gemm 2  |        |        | split 2 |        |
//   tp_sm24 |        | rs 0   | rs 1   | rs 2   |        |
//   tp_sm32 |                                   | rs 3   |
//   compute |                                   copies 0 to 2 | copy 3 |
//
// Exposed: the reduce-scatter of the last split, which need not leave multiprocessors free and takes 32, and the time
// by which an earlier one is longer than the GEMM of a split. A split has all tokens, so that every GEMM is as tall as
// the whole one. It is dense, since collectives require that, and the result is copied to its columns.
// Source: Transformer Engine's userbuffers, pipelined reduce-scatter (split along output features, four splits). Its
// kernel writes the columns itself; ours are NCCL's and the copies are counted.
//
// fp8_pipeline_scatter moves half the bytes: a split is cast to fp8 and exchanged during the GEMM of the next, and each
// rank adds the parts that it receives.
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
// sum, in fp32 and written as bf16 to the split's columns, replaces the copy.
// Source: Transformer Engine's userbuffers, pipelined reduce-scatter with fp8_buf; its kernel adds while it moves.
#include <algorithm>
#include <optional>
#include <vector>

#include "impl/tp/fp8_parts.hpp"
#include "kernels/copy/copy.hpp"
#include "kernels/reduction/reduction.hpp"

namespace underlap::tp {
namespace {

constexpr int kSmsOfLastSplit = 32;

class PipelineScatter final : public GemmScatter {
 public:
  PipelineScatter(const Context& context, bool in_fp8)
      : context_(context),
        scope_(context.communicators->scope()),
        under_gemm_(context.communicators->beside_gemm(context.overlap.num_sm, context.overlap.cga_size)),
        last_(context.communicators->beside_gemm(std::max(context.overlap.num_sm, kSmsOfLastSplit),
                                                 context.overlap.cga_size)),
        streams_(context.communicators->gemm_streams()),
        scatter_(context.purpose(in_fp8 ? "all_to_all" : "reduce_scatter")),
        write_(context.purpose(in_fp8 ? "split_sum" : "copy_out")) {
    if (in_fp8) {
      fp8_.emplace(context, num_splits(), num_splits(), context.tokens, features());
      scattered_ = allocate(context.dtype, context.tokens * context.features);
      scales_ = allocate(DataType::f32, num_splits() * context.num_parts());
    } else {
      partial_ = allocate(DataType::bf16, context.tokens * context.features);
      scattered_ = allocate(DataType::bf16, context.tokens_of_part() * context.features);
    }
  }

  void run(const TokenGemm& gemm, const View& in, const View& out) override {
    Device& device = context_.communicators->device();
    const auto used = streams_.first(std::min(streams_.size(), static_cast<std::size_t>(num_splits())));
    scope_.fork(used);
    std::vector<Event> scattered;
    for (std::int32_t i = 0; i < num_splits(); ++i) {
      const std::size_t s = static_cast<std::size_t>(i) % used.size();
      device.launch(used[s], gemm.tag,
                    gemm.split(in, i * features(), fp8_ ? fp8_->product(s) : split(partial_, context_.tokens, i)));
      if (fp8_) fp8_->cast(gemm.tag, used[s], s, i);
      scattered.push_back(scatter(gemm.tag, i, device.record(used[s])));
    }
    for (std::int32_t i = 0; i < num_splits(); ++i) {
      device.wait(context_.communicators->compute(), scattered[static_cast<std::size_t>(i)]);
      if (fp8_)
        scope_.launch(gemm.tag, Kind::compute, write_,
                      kernels::sum_fp8_slots(split(scattered_, context_.tokens, i), scales(i), columns(out, i)));
      else
        scope_.launch(gemm.tag, Kind::copy, write_,
                      kernels::copy(split(scattered_, context_.tokens_of_part(), i), columns(out, i)));
    }
  }

 private:
  std::int32_t num_splits() const { return context_.overlap.num_splits; }
  std::int64_t features() const { return context_.features / num_splits(); }

  Tensor allocate(DataType dtype, std::int64_t elements) const {
    return context_.communicators->device().allocate(context_.slot, dtype, elements);
  }
  View split(const Tensor& tensor, std::int64_t tokens, std::int32_t i) const {
    return matrix(tensor, tokens, features(), i * tokens * features());
  }
  View scales(std::int32_t i) const { return flat(scales_, i * context_.num_parts(), context_.num_parts()); }
  View columns(const View& out, std::int32_t i) const { return columns_of(out, i * features(), features()); }

  // Once split i is `made`. Returns when it, or in fp8 every rank's part of it, is where it is written from.
  Event scatter(const Tag& tag, std::int32_t i, Event made) {
    Device& device = context_.communicators->device();
    const bool is_last = i + 1 == num_splits();
    const Communicator& communicator = is_last ? last_ : under_gemm_;
    device.wait(communicator.stream, made);
    if (is_last) device.throttle(last_.stream, device.record(under_gemm_.stream));
    if (fp8_)
      return scope_.communicate(
          communicator, tag, scatter_,
          {{.collective = Collective::all_to_all,
            .input = fp8_->values(i),
            .output = split(scattered_, context_.tokens, i)},
           {.collective = Collective::all_gather, .input = fp8_->inverse_scales(i), .output = scales(i)}});
    return scope_.communicate(communicator, tag, scatter_,
                              {{.collective = Collective::reduce_scatter,
                                .input = split(partial_, context_.tokens, i),
                                .output = split(scattered_, context_.tokens_of_part(), i)}});
  }

  Context context_;
  Scope scope_;
  Communicator under_gemm_;
  Communicator last_;
  std::span<const Stream> streams_;
  NameId scatter_;
  NameId write_;
  Tensor partial_;    // bf16, a dense [T, F / num_splits] each
  Tensor scattered_;  // a dense [T/n, F / num_splits] each; of fp8 [T, F / num_splits]: every rank's part for this rank
  std::optional<Fp8Parts> fp8_;  // in place of partial_
  Tensor scales_;                // f32 [num_splits, n]: of fp8
};

const GemmScatters::Register kRegistered{{
    .name = "pipeline_scatter",
    .summary = "reduces each split of output features during the GEMM of the next split",
    .exposed = "the last split's reduce-scatter, and the copies of the splits to their columns",
    .keys = {{.method = plan::TensorMethod::pipeline}},
    .facts = {.knob = "comm_overlap.tp_comm_overlap", .sums = SumOrder::may_differ, .purposes = {"reduce_scatter"}},
    .make = make_of<PipelineScatter, false>,
}};

const GemmScatters::Register kInFp8{{
    .name = "fp8_pipeline_scatter",
    .summary = "exchanges each split of output features in fp8 during the GEMM of the next split, and sums it",
    .exposed = "the last split's exchange, the casts, and the sums of the splits into their columns",
    .keys = {{.method = plan::TensorMethod::pipeline, .with = {"fp8_buf"}}},
    .facts = {.knob = "comm_overlap.tp_comm_overlap", .sums = SumOrder::may_differ, .purposes = {"all_to_all"}},
    .make = make_of<PipelineScatter, true>,
}};

}  // namespace
}  // namespace underlap::tp
