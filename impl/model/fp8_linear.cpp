// SPDX-License-Identifier: Apache-2.0
#include "impl/model/fp8_linear.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <tuple>

#include "kernels/elementwise/elementwise.hpp"
#include "kernels/gemm_fp8/gemm_fp8.hpp"
#include "kernels/quantize/quantize.hpp"
#include "kernels/transpose/transpose.hpp"

namespace underlap::model {
namespace {

constexpr std::int64_t kOfWeight = 0, kOfGradient = 1, kOfInput = 2;  // of input: of the first slot's
constexpr std::int64_t kMultiple = 16;                                // of what is summed over
constexpr std::int64_t kMultipleOfRows = 8;                           // of a part that is multiplied on its own

void check(const Fp8Context& context) {
  const std::int64_t tokens = std::max(context.input_tokens, context.output_tokens);
  const std::int64_t tokens_here = std::min(context.input_tokens, context.output_tokens);
  for (const auto& [name, size, multiple] : {std::tuple{"tokens", tokens, kMultiple},
                                             {"tokens per rank", tokens_here, kMultipleOfRows},
                                             {"input features", context.in, kMultiple},
                                             {"output features", context.out, kMultiple}})
    if (size < 1 || size % multiple != 0)
      throw std::invalid_argument(
          fmt::format("{} in fp8: {} {}, must be a multiple of {}", context.name, size, name, multiple));
}

NameId purpose(const Fp8Context& context, std::string_view what) {
  return intern(fmt::format("{}_{}", context.name, what));
}

}  // namespace

Fp8Linear::Fp8Linear(const Fp8Context& context)
    : context_(context),
      amax_(purpose(context, "amax")),
      amax_all_reduce_(purpose(context, "amax_all_reduce")),
      quantize_(purpose(context, "quantize")),
      transpose_(purpose(context, "transpose")),
      weight_step_(std::numeric_limits<std::int32_t>::min()) {
  check(context);
  Device& device = *context.device;
  scales_ = device.allocate("fp8_scales", DataType::f32, 2 * kernels::kScaleStride * (kOfInput + context.num_slots));
  if (!context.weight_is_fp8) own_weight_ = device.allocate("fp8_weight", DataType::f8e4m3, context.out * context.in);
  transposed_weight_ = allocate_matrix(device, "fp8_transposed_weight", DataType::f8e4m3, context.in, context.out);
  context_.name = {};  // the caller's text need not outlive this
}

Fp8Linear::Scale Fp8Linear::scale(std::int64_t i) const {
  return {flat(scales_, 2 * i * kernels::kScaleStride, 1), flat(scales_, (2 * i + 1) * kernels::kScaleStride, 1)};
}

tp::Operand Fp8Linear::input(std::int32_t slot) const {
  return {matrix(context_.inputs, context_.input_tokens, context_.in, slot * context_.input_tokens * context_.in),
          scale(kOfInput + slot).inverse_scale};
}

void Fp8Linear::launch(const Tag& tag, NameId purpose, const Operation& operation) const {
  Tag own = tag;
  own.purpose = purpose;
  context_.device->launch(context_.compute, own, operation);
}

void Fp8Linear::quantize(const Tag& tag, const View& x, const Scale& scale, const View& q,
                         const tp::Collectives* group) const {
  launch(tag, amax_, kernels::fill(scale.amax, 0));
  launch(tag, amax_, kernels::amax(x, scale.amax));
  if (group != nullptr) group->all_reduce(tag, amax_all_reduce_, scale.amax, ReduceOp::max);
  launch(tag, amax_, kernels::fp8_scale(scale.amax, scale.inverse_scale, q.tensor.dtype));
  launch(tag, quantize_, kernels::quantize(x, scale.inverse_scale, q));
}

// A weight's ranks each hold another part and scale it alone.
void Fp8Linear::take_weight(const Tag& tag, const GatheredWeight& weight) {
  if (tag.step == weight_step_) return;
  weight_step_ = tag.step;
  weight_ = weight;
  if (!context_.weight_is_fp8) {
    weight_ = {matrix(own_weight_, context_.out, context_.in), scale(kOfWeight).inverse_scale};
    quantize(tag, weight.values, scale(kOfWeight), weight_.values, nullptr);
  }
  launch(tag, transpose_, kernels::transpose(weight_.values, transposed_weight_));
}

void Fp8Linear::fprop(const Tag& tag, std::int32_t slot, const GatheredWeight& weight, const View& x, const View& y) {
  take_weight(tag, weight);
  quantize(tag, x, scale(kOfInput + slot), input(slot).values, context_.input_group);
  context_.products->fprop(tag, {weight_.values, weight_.inverse_scale, weight.bias}, input(slot), y);
}

void Fp8Linear::backward(const Tag& tag, std::int32_t slot, const View& dy, const View& dx, const View& main_grad) {
  const Scale of_dy = scale(kOfGradient);
  const View q = matrix(context_.gradient, context_.output_tokens, context_.out);
  quantize(tag, dy, of_dy, q, context_.gradient_group);
  context_.products->backward(tag, {.weight = {transposed_weight_, weight_.inverse_scale},
                                    .main_grad = main_grad,
                                    .dy = {q, of_dy.inverse_scale},
                                    .x = input(slot),
                                    .dx = dx});
}

}  // namespace underlap::model
