// SPDX-License-Identifier: Apache-2.0
#include "impl/tp/linear.hpp"

#include <fmt/format.h>

#include <optional>

#include "impl/plan/tensor_slots.hpp"
#include "kernels/gemm/gemm.hpp"
#include "kernels/gemm_fp8/gemm_fp8.hpp"
#include "kernels/transpose/transpose.hpp"

namespace underlap::tp {
namespace {

/// The three products of one layer by name, on its rank.
class Products {
 public:
  explicit Products(const LinearContext& context)
      : device_(context.communicators->device()),
        compute_(context.communicators->compute()),
        fp8_(context.fp8),
        fprop_(intern(fmt::format("{}_fprop", context.name))),
        dgrad_(intern(fmt::format("{}_dgrad", context.name))),
        wgrad_(intern(fmt::format("{}_wgrad", context.name))),
        transpose_(intern(fmt::format("{}_transpose", context.name))) {}

  Stream compute() const { return compute_; }

  TokenGemm fprop(const Tag& tag, const Operand& weight, const Operand& x, int sm_margin = 0) const {
    return {with(tag, fprop_), weight, false, sm_margin, x.inverse_scale};
  }
  TokenGemm dgrad(const Tag& tag, const Operand& weight, const Operand& dy, int sm_margin = 0) const {
    return {with(tag, dgrad_), weight, true, sm_margin, dy.inverse_scale};
  }
  void run(Stream stream, const TokenGemm& gemm, const View& in, const View& out) const {
    device_.launch(stream, gemm.tag, gemm.rows(in, out));
  }
  /// main_grad += dy^T x. In fp8, which is multiplied along rows of both operands only, of transposed copies.
  void wgrad(Stream stream, const Tag& tag, const Operand& dy, const Operand& x, const View& main_grad,
             int sm_margin = 0) const {
    if (fp8_ == nullptr)
      return device_.launch(stream, with(tag, wgrad_), kernels::gemm_wgrad(dy.values, x.values, main_grad, sm_margin));
    device_.launch(stream, with(tag, wgrad_),
                   kernels::gemm_fp8({.a = transpose(stream, tag, dy.values, fp8_->gradient),
                                      .a_inverse_scale = dy.inverse_scale,
                                      .b = transpose(stream, tag, x.values, fp8_->input),
                                      .b_inverse_scale = x.inverse_scale,
                                      .c = main_grad,
                                      .accumulate = true,
                                      .sm_margin = sm_margin}));
  }

 private:
  static Tag with(Tag tag, NameId purpose) {
    tag.purpose = purpose;
    return tag;
  }
  View transpose(Stream stream, const Tag& tag, const View& x, const Tensor& copies) const {
    const View copy = matrix(copies, x.cols, x.rows);
    device_.launch(stream, with(tag, transpose_), kernels::transpose(x, copy));
    return copy;
  }

  Device& device_;
  Stream compute_;
  const Fp8Scratch* fp8_;
  NameId fprop_;
  NameId dgrad_;
  NameId wgrad_;
  NameId transpose_;
};

class LocalLinear : public Linear {
 public:
  explicit LocalLinear(const LinearContext& context) : products_(context) {}

  void fprop(const Tag& tag, const Operand& weight, const Operand& x, const View& y) override {
    products_.run(products_.compute(), products_.fprop(tag, weight, x), x.values, y);
  }

  void backward(const Tag& tag, const Backward& b) override {
    dgrad(tag, b);
    wgrad(tag, b);
  }

  void dgrad(const Tag& tag, const Backward& b) override {
    products_.run(products_.compute(), products_.dgrad(tag, b.weight, b.dy), b.dy.values, b.dx);
  }

  void wgrad(const Tag& tag, const Backward& b) final {
    products_.wgrad(products_.compute(), tag, b.dy, b.x, b.main_grad);
  }

 protected:
  const Products& products() const { return products_; }

 private:
  Products products_;
};

class LocalDrain final : public WgradDrain {
 public:
  explicit LocalDrain(const LinearContext& context) : products_(context) {}

  void run(std::span<const DeferredWgrad> wgrads, const View& main_grad) override {
    for (const DeferredWgrad& w : wgrads) products_.wgrad(products_.compute(), w.tag, {w.dy}, {w.x}, main_grad);
  }

 private:
  Products products_;
};

/// The context of one slot of a layer: `features` columns of what is gathered or reduced. Where products are of fp8
/// what is gathered moves as `fp8`, and what is reduced does with fp8_buf.
Context slot_context(const LinearContext& layer, std::string_view pass, const plan::TensorSlotOverlap& overlap,
                     std::int64_t features, DataType fp8, Collective collective = Collective::all_gather) {
  const bool moves_fp8 = layer.fp8 != nullptr && (collective == Collective::all_gather || overlap.fp8_buf);
  return {.communicators = layer.communicators,
          .slot = fmt::format("{}_{}", layer.name, pass),
          .overlap = overlap,
          .tokens = layer.tokens,
          .features = features,
          .dtype = moves_fp8 ? fp8 : DataType::bf16,
          .collective = collective};
}

class ColumnLinear final : public Linear {
 public:
  ColumnLinear(const LinearContext& context, const ColumnOverlap& overlap)
      : products_(context),
        fprop_context_(slot_context(context, "fprop", overlap.fprop, context.in, DataType::f8e4m3)),
        dgrad_context_(slot_context(context, "dgrad", overlap.dgrad, context.in, DataType::f8e4m3)),
        wgrad_context_(
            slot_context(context, "wgrad", overlap.wgrad, context.in, DataType::bf16, Collective::reduce_scatter)),
        scatter_context_(
            slot_context(context, "dgrad", overlap.dgrad, context.in, DataType::f8e5m2, Collective::reduce_scatter)),
        fprop_(GatherGemms::make(overlap.fprop, fprop_context_)),
        gather_(CollectivesDuringGemm::make(plan::splits_gemm(overlap.dgrad.method) ? overlap.wgrad : overlap.dgrad,
                                            dgrad_context_)) {
    if (plan::splits_gemm(overlap.dgrad.method))
      dgrad_ = GemmScatters::make(overlap.dgrad, scatter_context_);
    else
      scatter_ = CollectivesDuringGemm::make(overlap.wgrad, wgrad_context_);
  }

  void fprop(const Tag& tag, const Operand& weight, const Operand& x, const View& y) override {
    fprop_->run(products_.fprop(tag, weight, x, fprop_context_.sm_margin()), x.values, y);
  }

  void backward(const Tag& tag, const Backward& b) override {
    gather_->run(tag, b.x.values, [&](Stream stream) { multiply_dgrad(stream, tag, b); });
    if (dgrad_ != nullptr)
      multiply_wgrad(products_.compute(), tag, b);
    else
      scatter_->run(tag, b.dx, [&](Stream stream) { multiply_wgrad(stream, tag, b); });
  }

  // The deferred wgrad leaves nothing to overlap with the reduce-scatter.
  void dgrad(const Tag& tag, const Backward& b) override {
    multiply_dgrad(products_.compute(), tag, b);
    if (dgrad_ == nullptr) scatter_->run(tag, b.dx, [](Stream) {});
  }

  void wgrad(const Tag& tag, const Backward& b) override {
    gather_->run(tag, b.x.values, [](Stream) {});
    multiply_wgrad(products_.compute(), tag, b);
  }

 private:
  void multiply_dgrad(Stream stream, const Tag& tag, const Backward& b) {
    const TokenGemm dgrad = products_.dgrad(tag, b.weight, b.dy, dgrad_context_.sm_margin());
    if (dgrad_ != nullptr)
      dgrad_->run(dgrad, b.dy.values, b.dx);
    else
      products_.run(stream, dgrad, b.dy.values, scatter_->full());
  }

  // With the input as it was gathered last.
  void multiply_wgrad(Stream stream, const Tag& tag, const Backward& b) {
    products_.wgrad(stream, tag, b.dy, {gather_->full(), b.x.inverse_scale}, b.main_grad, wgrad_context_.sm_margin());
  }

  Products products_;
  Context fprop_context_, dgrad_context_, wgrad_context_, scatter_context_;
  std::unique_ptr<GatherGemm> fprop_;
  std::unique_ptr<CollectiveDuringGemm> gather_;
  // With tp_comm_overlap_rs_dgrad the dgrad GEMM and its reduce-scatter are split together. NCCL then gathers the
  // input, as the wgrad slot requires, and that slot reduces nothing itself: there is no scatter_.
  std::unique_ptr<GemmScatter> dgrad_;
  std::unique_ptr<CollectiveDuringGemm> scatter_;  // during wgrad
};

class RowLinear final : public Linear {
 public:
  RowLinear(const LinearContext& context, const RowOverlap& overlap)
      : products_(context),
        fprop_context_(
            slot_context(context, "fprop", overlap.fprop, context.out, DataType::f8e4m3, Collective::reduce_scatter)),
        dgrad_context_(slot_context(context, "dgrad", overlap.dgrad, context.out, DataType::f8e5m2)),
        fprop_(GemmScatters::make(overlap.fprop, fprop_context_)),
        dgrad_(GatherGemms::make(overlap.dgrad, dgrad_context_)),
        wgrad_gather_(intern(fmt::format("{}_wgrad_all_gather", context.name))) {
    if (overlap.dgrad.method != plan::TensorMethod::ring_exchange) collectives_.emplace(*context.communicators);
  }

  void fprop(const Tag& tag, const Operand& weight, const Operand& x, const View& y) override {
    fprop_->run(products_.fprop(tag, weight, x, fprop_context_.sm_margin()), x.values, y);
  }

  // wgrad communicates nothing: the gathered gradient is still there.
  void backward(const Tag& tag, const Backward& b) override {
    dgrad(tag, b);
    multiply_wgrad(tag, b);
  }

  void dgrad(const Tag& tag, const Backward& b) override {
    dgrad_->run(products_.dgrad(tag, b.weight, b.dy, dgrad_context_.sm_margin()), b.dy.values, b.dx);
  }

  // Other layers' gradients have been gathered into that buffer since.
  void wgrad(const Tag& tag, const Backward& b) override {
    collectives_.value().all_gather(tag, wgrad_gather_, b.dy.values, dgrad_->gathered());
    multiply_wgrad(tag, b);
  }

 private:
  void multiply_wgrad(const Tag& tag, const Backward& b) {
    products_.wgrad(products_.compute(), tag, {dgrad_->gathered(), b.dy.inverse_scale}, b.x, b.main_grad);
  }

  Products products_;
  Context fprop_context_, dgrad_context_;
  std::unique_ptr<GemmScatter> fprop_;
  std::unique_ptr<GatherGemm> dgrad_;
  std::optional<Collectives> collectives_;  // where no ring gathers
  NameId wgrad_gather_;
};

/// On whole activations: dx is a sum over the ranks, all-reduced during wgrad.
class WholeColumnLinear final : public LocalLinear {
 public:
  WholeColumnLinear(const LinearContext& context, const ColumnOverlap& overlap)
      : LocalLinear(context),
        all_reduce_(CollectivesDuringGemm::make(overlap.wgrad, slot_context(context, "wgrad", overlap.wgrad, context.in,
                                                                            DataType::bf16, Collective::all_reduce))) {}

  void backward(const Tag& tag, const Backward& b) override {
    LocalLinear::dgrad(tag, b);
    all_reduce_->run(tag, b.dx, [&](Stream stream) { products().wgrad(stream, tag, b.dy, b.x, b.main_grad); });
  }

  void dgrad(const Tag& tag, const Backward& b) override {
    LocalLinear::dgrad(tag, b);
    all_reduce_->run(tag, b.dx, [](Stream) {});
  }

 private:
  std::unique_ptr<CollectiveDuringGemm> all_reduce_;
};

/// On whole activations: y is a sum over the ranks, and backward communicates nothing.
class WholeRowLinear final : public LocalLinear {
 public:
  WholeRowLinear(const LinearContext& context, const RowOverlap& overlap)
      : LocalLinear(context),
        fprop_(GemmScatters::make(overlap.fprop, slot_context(context, "fprop", overlap.fprop, context.out,
                                                              DataType::bf16, Collective::all_reduce))) {}

  void fprop(const Tag& tag, const Operand& weight, const Operand& x, const View& y) override {
    fprop_->run(products().fprop(tag, weight, x), x.values, y);
  }

 private:
  std::unique_ptr<GemmScatter> fprop_;
};

bool is_alone(const LinearContext& context) { return context.communicators->group().size() == 1; }

}  // namespace

Fp8Scratch::Fp8Scratch(Device& device, std::int64_t tokens, std::int64_t most_in, std::int64_t most_out)
    : gradient(device.allocate("fp8_transposed_gradient", DataType::f8e5m2, most_out * tokens)),
      input(device.allocate("fp8_transposed_input", DataType::f8e4m3, most_in * tokens)) {}

std::unique_ptr<Linear> make_column_linear(const LinearContext& context, const ColumnOverlap& overlap) {
  if (is_alone(context)) return std::make_unique<LocalLinear>(context);
  if (!context.sequence_parallel) return std::make_unique<WholeColumnLinear>(context, overlap);
  return std::make_unique<ColumnLinear>(context, overlap);
}

std::unique_ptr<Linear> make_row_linear(const LinearContext& context, const RowOverlap& overlap) {
  if (is_alone(context)) return std::make_unique<LocalLinear>(context);
  if (!context.sequence_parallel) return std::make_unique<WholeRowLinear>(context, overlap);
  return std::make_unique<RowLinear>(context, overlap);
}

std::unique_ptr<WgradDrain> make_wgrad_drain(const LinearContext& context, const plan::TensorSlotOverlap& wgrad) {
  if (is_alone(context) || !context.sequence_parallel) return std::make_unique<LocalDrain>(context);
  return WgradDrains::make(wgrad, slot_context(context, "wgrad", wgrad, context.in, DataType::bf16));
}

}  // namespace underlap::tp
