// SPDX-License-Identifier: Apache-2.0
#include "kernels/cross_entropy/cross_entropy.hpp"

#include <array>
#include <cmath>

#include "kernels/cross_entropy/cross_entropy_parameters.hpp"
#include "kernels/registry.hpp"
#include "kernels/scratch.hpp"
#include "kernels/shapes.hpp"
#include "kernels/vector_math.hpp"

namespace underlap::kernels {
namespace {

/// Log of the sum of exp over a row; uses `row` up.
float log_sum_exp(float* row, std::int64_t n) {
  const float largest = max(row, n);
  for (std::int64_t i = 0; i < n; ++i) row[i] = exp_fp32(row[i] - largest);
  return largest + std::log(sum(row, n));
}

void forward_form(const Arguments& views) {
  const BoundView& logits = views[0];
  const std::int32_t* const targets = views[1].as<std::int32_t>();
  float* const lse = views[2].as<float>();
  float* const loss = views[3].as<float>();
  Scratch scratch;
  float* const row = scratch.take(logits.cols);
  double total = 0;
  for (std::int64_t t = 0; t < logits.rows; ++t) {
    require_index("cross_entropy_forward", "target", targets[t], t, logits.cols);
    widen(logits.row<bf16>(t), row, logits.cols);
    const float target_logit = row[targets[t]];
    lse[t] = log_sum_exp(row, logits.cols);
    total += static_cast<double>(lse[t]) - static_cast<double>(target_logit);
  }
  *loss = static_cast<float>(static_cast<double>(*loss) + views.parameters<CrossEntropyParameters>().scale * total);
}

void backward_form(const Arguments& views) {
  const BoundView &logits = views[0], &dlogits = views[3];
  const std::int32_t* const targets = views[1].as<std::int32_t>();
  const float* const lse = views[2].as<float>();
  const auto scale = static_cast<float>(views.parameters<CrossEntropyParameters>().scale);
  Scratch scratch;
  float* const row = scratch.take(logits.cols);
  for (std::int64_t t = 0; t < logits.rows; ++t) {
    require_index("cross_entropy_backward", "target", targets[t], t, logits.cols);
    widen(logits.row<bf16>(t), row, logits.cols);
    for (std::int64_t v = 0; v < logits.cols; ++v) row[v] = exp_fp32(row[v] - lse[t]);
    row[targets[t]] -= 1.0F;
    narrow(row, dlogits.row<bf16>(t), logits.cols, scale);
  }
}

}  // namespace

Operation cross_entropy_forward(const View& logits, const View& targets, const View& lse, const View& loss,
                                double scale) {
  constexpr auto kName = "cross_entropy_forward";
  require(kName, logits, {"logits", logits.rows, logits.cols, {DataType::bf16}});
  require(kName, targets, {"targets", 1, logits.rows, {DataType::i32}});
  require(kName, lse, {"lse", 1, logits.rows, {DataType::f32}});
  require(kName, loss, {"loss", 1, 1, {DataType::f32}});
  static const NameId name = intern(kName);
  return Operation(name, forward_form,
                   {.flops = 4 * static_cast<double>(logits.elements()),
                    .bytes_read = logits.bytes() + targets.bytes() + loss.bytes(),
                    .bytes_written = lse.bytes() + loss.bytes()},
                   {{logits, Access::in}, {targets, Access::in}, {lse, Access::out}, {loss, Access::inout}})
      .with_parameters(CrossEntropyParameters{scale});
}

Operation cross_entropy_backward(const View& logits, const View& targets, const View& lse, const View& dlogits,
                                 double scale) {
  constexpr auto kName = "cross_entropy_backward";
  require(kName, logits, {"logits", logits.rows, logits.cols, {DataType::bf16}});
  require(kName, targets, {"targets", 1, logits.rows, {DataType::i32}});
  require(kName, lse, {"lse", 1, logits.rows, {DataType::f32}});
  require(kName, dlogits, {"dlogits", logits.rows, logits.cols, {DataType::bf16}});
  static const NameId name = intern(kName);
  return Operation(name, backward_form,
                   {.flops = 3 * static_cast<double>(logits.elements()),
                    .bytes_read = logits.bytes() + targets.bytes() + lse.bytes(),
                    .bytes_written = dlogits.bytes()},
                   {{logits, Access::in}, {targets, Access::in}, {lse, Access::in}, {dlogits, Access::out}})
      .with_parameters(CrossEntropyParameters{scale});
}

std::span<const KernelInfo> list_cross_entropy() {
  static constexpr std::array<KernelInfo, 2> kernels{{
      {"cross_entropy", "cross_entropy_forward", "loss += scale * sum of (lse [T] - logits [T,V] at the targets)",
       "4 T V flops; 2 T V + 8 T + 8 bytes"},
      {"cross_entropy", "cross_entropy_backward", "dlogits [T,V] = scale * (softmax - one-hot target)",
       "3 T V flops; 4 T V + 8 T bytes"},
  }};
  return kernels;
}

}  // namespace underlap::kernels
