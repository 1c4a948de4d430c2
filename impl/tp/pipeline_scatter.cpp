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
#include <algorithm>
#include <vector>

#include "impl/tp/technique.hpp"
#include "kernels/copy/copy.hpp"

namespace underlap::tp {
namespace {

constexpr int kSmsOfLastSplit = 32;

class PipelineScatter final : public GemmScatter {
 public:
  explicit PipelineScatter(const Context& context)
      : context_(context),
        scope_(context.communicators->scope()),
        under_gemm_(context.communicators->beside_gemm(context.overlap.num_sm, context.overlap.cga_size)),
        last_(context.communicators->beside_gemm(std::max(context.overlap.num_sm, kSmsOfLastSplit),
                                                 context.overlap.cga_size)),
        streams_(context.communicators->gemm_streams()),
        scatter_(context.purpose("reduce_scatter")),
        copy_(context.purpose("copy_out")),
        partial_(allocate(context.tokens)),
        reduced_(allocate(context.tokens_of_part())) {}

  void run(const TokenGemm& gemm, const View& in, const View& out) override {
    Device& device = context_.communicators->device();
    const auto used = streams_.first(std::min(streams_.size(), static_cast<std::size_t>(num_splits())));
    scope_.fork(used);
    std::vector<Event> reduced;
    for (std::int32_t i = 0; i < num_splits(); ++i) {
      const Stream stream = used[static_cast<std::size_t>(i) % used.size()];
      device.launch(stream, gemm.tag, gemm.split(in, i * features(), split(partial_, context_.tokens, i)));
      reduced.push_back(reduce(gemm.tag, i, device.record(stream)));
    }
    for (std::int32_t i = 0; i < num_splits(); ++i) {
      device.wait(context_.communicators->compute(), reduced[static_cast<std::size_t>(i)]);
      scope_.launch(gemm.tag, Kind::copy, copy_,
                    kernels::copy(split(reduced_, context_.tokens_of_part(), i), columns(out, i)));
    }
  }

 private:
  std::int32_t num_splits() const { return context_.overlap.num_splits; }
  std::int64_t features() const { return context_.features / num_splits(); }

  Tensor allocate(std::int64_t tokens) const {
    return context_.communicators->device().allocate(context_.slot, DataType::bf16, tokens * context_.features);
  }
  View split(const Tensor& tensor, std::int64_t tokens, std::int32_t i) const {
    return matrix(tensor, tokens, features(), i * tokens * features());
  }
  View columns(View out, std::int32_t i) const {
    out.offset += i * features();
    out.cols = features();
    return out;
  }

  // Once split i is `made`. Returns when it is reduced.
  Event reduce(const Tag& tag, std::int32_t i, Event made) {
    Device& device = context_.communicators->device();
    const bool is_last = i + 1 == num_splits();
    const Communicator& communicator = is_last ? last_ : under_gemm_;
    device.wait(communicator.stream, made);
    if (is_last) device.throttle(last_.stream, device.record(under_gemm_.stream));
    return scope_.communicate(communicator, tag, scatter_,
                              {{.collective = Collective::reduce_scatter,
                                .input = split(partial_, context_.tokens, i),
                                .output = split(reduced_, context_.tokens_of_part(), i)}});
  }

  Context context_;
  Scope scope_;
  Communicator under_gemm_;
  Communicator last_;
  std::span<const Stream> streams_;
  NameId scatter_;
  NameId copy_;
  Tensor partial_;  // bf16, a dense [T, F / num_splits] each
  Tensor reduced_;  // bf16, a dense [T/n, F / num_splits] each
};

const GemmScatters::Register kRegistered{{
    .name = "pipeline_scatter",
    .summary = "reduces each split of output features during the GEMM of the next split",
    .exposed = "the last split's reduce-scatter, and the copies of the splits to their columns",
    .keys = {{.method = plan::TensorMethod::pipeline}},
    .facts = {.knob = "comm_overlap.tp_comm_overlap", .sums = SumOrder::may_differ, .purposes = {"reduce_scatter"}},
    .make = [](const Context& context) -> std::unique_ptr<GemmScatter> {
      return std::make_unique<PipelineScatter>(context);
    },
}};

}  // namespace
}  // namespace underlap::tp
