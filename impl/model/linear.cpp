// SPDX-License-Identifier: Apache-2.0
#include "impl/model/linear.hpp"

#include <algorithm>
#include <cassert>

#include "impl/plan/precision.hpp"

namespace underlap::model {
namespace {

using plan::TensorSlot;

plan::TensorOverlap effective_overlap(const plan::Config& config, bool is_fp8) {
  plan::TensorOverlap overlap = config.tensor_overlap;
  if (!is_fp8)
    for (plan::TensorSlotOverlap& slot : overlap.slots) slot.fp8_buf = false;
  return overlap;
}

// The layer's linear layers whose weight's rows are split; the others' columns are.
bool is_column_parallel(std::string_view name) { return name == "qkv" || name == "fc1"; }

tp::Linear& linear_of(const LayerLinears& linears, std::string_view name) {
  if (name == "qkv") return *linears.qkv;
  if (name == "proj") return *linears.proj;
  return name == "fc1" ? *linears.fc1 : *linears.fc2;
}

tp::LinearContext head_context(tp::Communicators& communicators, const Shape& shape) {
  return {.communicators = &communicators,
          .name = "head",
          .tokens = shape.tokens,
          .in = shape.hidden,
          .out = shape.vocab,
          .sequence_parallel = shape.cuts_tokens()};
}

plan::TensorSlotOverlap without_userbuffers(const plan::Config& config) {
  return {.method = config.extensions.tp_async_collectives ? plan::TensorMethod::nccl : plan::TensorMethod::waited};
}

}  // namespace

LayerLinears::LayerLinears(tp::Communicators& communicators, const Shape& shape, const plan::Config& config,
                           const tp::Fp8Scratch* fp8) {
  const plan::TensorOverlap o = effective_overlap(config, fp8 != nullptr);
  const auto context = [&](std::string_view name, std::int64_t in, std::int64_t out) {
    return tp::LinearContext{.communicators = &communicators,
                             .name = name,
                             .tokens = shape.tokens,
                             .in = in,
                             .out = out,
                             .sequence_parallel = shape.cuts_tokens(),
                             .fp8 = fp8};
  };
  const auto column = [&](TensorSlot fprop, TensorSlot dgrad, TensorSlot wgrad) {
    return tp::ColumnOverlap{o[fprop], o[dgrad], o[wgrad]};
  };
  const auto row = [&](TensorSlot fprop, TensorSlot dgrad) { return tp::RowOverlap{o[fprop], o[dgrad]}; };
  qkv = tp::make_column_linear(context("qkv", shape.hidden, shape.qkv_out_features()),
                               column(TensorSlot::qkv_fprop, TensorSlot::qkv_dgrad, TensorSlot::qkv_wgrad));
  proj = tp::make_row_linear(context("proj", shape.attention_features(), shape.hidden),
                             row(TensorSlot::proj_fprop, TensorSlot::proj_dgrad));
  fc1 = tp::make_column_linear(context("fc1", shape.hidden, shape.fc1_features()),
                               column(TensorSlot::fc1_fprop, TensorSlot::fc1_dgrad, TensorSlot::fc1_wgrad));
  fc2 = tp::make_row_linear(context("fc2", shape.ffn, shape.hidden), row(TensorSlot::fc2_fprop, TensorSlot::fc2_dgrad));
}

Fp8Linears::Fp8Linears(tp::Communicators& communicators, const Shape& shape, const plan::Config& config)
    : communicators_(communicators), config_(config), shape_(shape) {
  bool any = false;
  for (std::int32_t i = 0; i < config.model.num_layers; ++i) any = any || multiplies_in_fp8(config, i);
  if (!any) return;
  const std::int64_t most_in = std::max({shape.hidden, shape.attention_features(), shape.ffn});
  const std::int64_t most_out = std::max({shape.hidden, shape.qkv_out_features(), shape.fc1_features()});
  if (shape.cuts_tokens()) group_ = std::make_unique<tp::Collectives>(communicators);
  transposed_ = std::make_unique<tp::Fp8Scratch>(communicators.device(), shape.tokens, most_in, most_out);
  linears_ = std::make_unique<LayerLinears>(communicators, shape, config, transposed_.get());
  gradient_ = communicators.device().allocate("fp8_gradient", DataType::f8e5m2, shape.tokens * most_out);
}

std::unique_ptr<Fp8Linear> Fp8Linears::make(std::string_view name, std::int32_t layer, std::int64_t in,
                                            std::int64_t out, const Keeping& keeping) {
  if (!multiplies_in_fp8(config_, layer)) return nullptr;
  const bool is_column = is_column_parallel(name);
  const std::int64_t input_tokens = is_column ? shape_.tokens_here : shape_.tokens;
  return std::make_unique<Fp8Linear>(Fp8Context{.device = &communicators_.device(),
                                                .compute = communicators_.compute(),
                                                .products = &linear_of(*linears_, name),
                                                .name = name,
                                                .input_tokens = input_tokens,
                                                .output_tokens = is_column ? shape_.tokens : shape_.tokens_here,
                                                .in = in,
                                                .out = out,
                                                .inputs = inputs(name, input_tokens * in, keeping),
                                                .gradient = gradient_,
                                                .num_slots = keeping.is_recomputed ? 1 : keeping.num_slots,
                                                .weight_is_fp8 = gathers_fp8_weights(config_),
                                                .input_group = is_column ? group_.get() : nullptr,
                                                .gradient_group = is_column ? nullptr : group_.get()});
}

Tensor Fp8Linears::inputs(std::string_view name, std::int64_t elements, const Keeping& keeping) {
  const auto allocate = [&](std::int32_t slots) {
    return communicators_.device().allocate("fp8_input", DataType::f8e4m3, slots * elements);
  };
  if (!keeping.is_recomputed) return allocate(keeping.num_slots);
  Tensor& inputs = recomputed_inputs_[{std::string(name), keeping.position}];
  if (inputs.id == 0) inputs = allocate(1);
  return inputs;
}

std::unique_ptr<tp::Linear> make_head(tp::Communicators& communicators, const Shape& shape,
                                      const plan::Config& config) {
  const plan::TensorSlotOverlap overlap = without_userbuffers(config);
  return tp::make_column_linear(head_context(communicators, shape), {overlap, overlap, overlap});
}

std::unique_ptr<tp::WgradDrain> make_head_drain(tp::Communicators& communicators, const Shape& shape,
                                                const plan::Config& config) {
  if (!config.pipeline.defer_embedding_wgrad_compute) return nullptr;
  return tp::make_wgrad_drain(head_context(communicators, shape), without_userbuffers(config));
}

void Linear::fprop(const Enqueue& enqueue, const Weights& weights, std::int32_t slot, const View& x,
                   const View& y) const {
  const View weight = weights.gathered(parameter_);
  const View bias = bias_ < 0 ? View{} : weights.gathered(bias_);
  if (fp8_ != nullptr) return fp8_->fprop(enqueue.tag, slot, {weight, weights.inverse_scale(parameter_), bias}, x, y);
  over_group_.fprop(enqueue.tag, {weight, {}, bias}, {x}, y);
}

void Linear::backward(const Enqueue& enqueue, const Weights& weights, std::int32_t slot, const View& dy, const View& x,
                      const View& dx) const {
  if (weights.puts_off_wgrads) return dgrad(enqueue, weights, dy, dx);
  const View main_grad = weights.main_grad(parameter_);
  if (fp8_ != nullptr) {
    fp8_->backward(enqueue.tag, slot, dy, dx, main_grad);
  } else {
    over_group_.backward(
        enqueue.tag, {.weight = {weights.weight(parameter_)}, .main_grad = main_grad, .dy = {dy}, .x = {x}, .dx = dx});
  }
  weights.after_wgrad({parameter_});
}

void Linear::dgrad(const Enqueue& enqueue, const Weights& weights, const View& dy, const View& dx) const {
  assert(fp8_ == nullptr);
  over_group_.dgrad(enqueue.tag,
                    {.weight = {weights.weight(parameter_)}, .main_grad = {}, .dy = {dy}, .x = {}, .dx = dx});
}

void Linear::wgrad(const Enqueue& enqueue, const Weights& weights, const View& dy, const View& x) const {
  assert(fp8_ == nullptr);
  over_group_.wgrad(enqueue.tag,
                    {.weight = {}, .main_grad = weights.main_grad(parameter_), .dy = {dy}, .x = {x}, .dx = {}});
  weights.after_wgrad({parameter_});
}

}  // namespace underlap::model
