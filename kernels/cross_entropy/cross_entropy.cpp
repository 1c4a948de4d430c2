// SPDX-License-Identifier: Apache-2.0
//
// loss of a row = lse - logit of the target, with lse = max + log(sum of exp(logit - max)): no exponential overflows,
// and the largest is 1. A row is widened to fp32 once and stays in the cache for the passes that follow (max, exp,
// sum).
//
// Over a vocabulary that ranks share, max and sums are two collectives, and the target's logit travels with the sums:
// the rank that has its column gives it, all others 0. lse and loss are then computed by every rank from the same
// numbers.
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

/// The sum of exp(x - largest) over a row; uses `row` up.
float exp_sum(float* row, std::int64_t n, float largest) {
  for (std::int64_t i = 0; i < n; ++i) row[i] = exp_fp32(row[i] - largest);
  return sum(row, n);
}

/// Log of the sum of exp over a row; uses `row` up.
float log_sum_exp(float* row, std::int64_t n) {
  const float largest = max(row, n);
  return largest + std::log(exp_sum(row, n, largest));
}

/// Where `target` lies among the columns of `logits`, or -1.
std::int64_t column_of(std::int32_t target, const BoundView& logits, const VocabShard& shard) {
  const std::int64_t column = target - shard.first;
  return column >= 0 && column < logits.cols ? column : -1;
}

void forward_cpu(const Arguments& views) {
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

void max_cpu(const Arguments& views) {
  const BoundView& logits = views[0];
  Scratch scratch;
  float* const row = scratch.take(logits.cols);
  for (std::int64_t t = 0; t < logits.rows; ++t) {
    widen(logits.row<bf16>(t), row, logits.cols);
    views[1].as<float>()[t] = max(row, logits.cols);
  }
}

void sums_cpu(const Arguments& views) {
  const BoundView &logits = views[0], &sums = views[3];
  const std::int32_t* const targets = views[1].as<std::int32_t>();
  const float* const largest = views[2].as<float>();
  const VocabShard shard = views.parameters<CrossEntropyParameters>().shard;
  Scratch scratch;
  float* const row = scratch.take(logits.cols);
  for (std::int64_t t = 0; t < logits.rows; ++t) {
    require_index("cross_entropy_sums", "target", targets[t], t, shard.vocab_size);
    widen(logits.row<bf16>(t), row, logits.cols);
    const std::int64_t column = column_of(targets[t], logits, shard);
    sums.row<float>(1)[t] = column >= 0 ? row[column] : 0.0F;
    sums.row<float>(0)[t] = exp_sum(row, logits.cols, largest[t]);
  }
}

void finish_cpu(const Arguments& views) {
  const BoundView &sums = views[1], &lse = views[2];
  const float* const largest = views[0].as<float>();
  float* const loss = views[3].as<float>();
  double total = 0;
  for (std::int64_t t = 0; t < lse.cols; ++t) {
    lse.as<float>()[t] = largest[t] + std::log(sums.row<float>(0)[t]);
    total += static_cast<double>(lse.as<float>()[t]) - static_cast<double>(sums.row<float>(1)[t]);
  }
  *loss = static_cast<float>(static_cast<double>(*loss) + views.parameters<CrossEntropyParameters>().scale * total);
}

void backward_cpu(const Arguments& views) {
  const BoundView &logits = views[0], &dlogits = views[3];
  const std::int32_t* const targets = views[1].as<std::int32_t>();
  const float* const lse = views[2].as<float>();
  const auto p = views.parameters<CrossEntropyParameters>();
  Scratch scratch;
  float* const row = scratch.take(logits.cols);
  for (std::int64_t t = 0; t < logits.rows; ++t) {
    require_index("cross_entropy_backward", "target", targets[t], t, p.shard.vocab_size);
    widen(logits.row<bf16>(t), row, logits.cols);
    for (std::int64_t v = 0; v < logits.cols; ++v) row[v] = exp_fp32(row[v] - lse[t]);
    if (const std::int64_t column = column_of(targets[t], logits, p.shard); column >= 0) row[column] -= 1.0F;
    narrow(row, dlogits.row<bf16>(t), logits.cols, static_cast<float>(p.scale));
  }
}

}  // namespace

Operation cross_entropy_forward(const View& logits, const View& targets, const View& lse, const View& loss,
                                double scale) {
  static const NameId name = intern("cross_entropy_forward");
  return make_operation(name, forward_cpu, {.flops = 4 * static_cast<double>(logits.elements())},
                        {{logits, Access::in, {"logits", logits.rows, logits.cols, {DataType::bf16}}},
                         {targets, Access::in, {"targets", 1, logits.rows, {DataType::i32}}},
                         {lse, Access::out, {"lse", 1, logits.rows, {DataType::f32}}},
                         {loss, Access::inout, {"loss", 1, 1, {DataType::f32}}}})
      .with_parameters(CrossEntropyParameters{.scale = scale});
}

Operation cross_entropy_max(const View& logits, const View& max) {
  static const NameId name = intern("cross_entropy_max");
  return make_operation(name, max_cpu, {.flops = static_cast<double>(logits.elements())},
                        {{logits, Access::in, {"logits", logits.rows, logits.cols, {DataType::bf16}}},
                         {max, Access::out, {"max", 1, logits.rows, {DataType::f32}}}});
}

Operation cross_entropy_sums(const View& logits, const View& targets, const View& max, const View& sums,
                             const VocabShard& shard) {
  static const NameId name = intern("cross_entropy_sums");
  const VocabShard held = checked_shard("cross_entropy_sums", shard, logits.cols);
  return make_operation(name, sums_cpu, {.flops = 3 * static_cast<double>(logits.elements())},
                        {{logits, Access::in, {"logits", logits.rows, logits.cols, {DataType::bf16}}},
                         {targets, Access::in, {"targets", 1, logits.rows, {DataType::i32}}},
                         {max, Access::in, {"max", 1, logits.rows, {DataType::f32}}},
                         {sums, Access::out, {"sums", 2, logits.rows, {DataType::f32}}}})
      .with_parameters(CrossEntropyParameters{.shard = held});
}

Operation cross_entropy_finish(const View& max, const View& sums, const View& lse, const View& loss, double scale) {
  static const NameId name = intern("cross_entropy_finish");
  return make_operation(name, finish_cpu, {.flops = 4 * static_cast<double>(lse.elements())},
                        {{max, Access::in, {"max", 1, lse.cols, {DataType::f32}}},
                         {sums, Access::in, {"sums", 2, lse.cols, {DataType::f32}}},
                         {lse, Access::out, {"lse", 1, lse.cols, {DataType::f32}}},
                         {loss, Access::inout, {"loss", 1, 1, {DataType::f32}}}})
      .with_parameters(CrossEntropyParameters{.scale = scale});
}

Operation cross_entropy_backward(const View& logits, const View& targets, const View& lse, const View& dlogits,
                                 double scale, const VocabShard& shard) {
  static const NameId name = intern("cross_entropy_backward");
  const VocabShard held = checked_shard("cross_entropy_backward", shard, logits.cols);
  return make_operation(name, backward_cpu, {.flops = 3 * static_cast<double>(logits.elements())},
                        {{logits, Access::in, {"logits", logits.rows, logits.cols, {DataType::bf16}}},
                         {targets, Access::in, {"targets", 1, logits.rows, {DataType::i32}}},
                         {lse, Access::in, {"lse", 1, logits.rows, {DataType::f32}}},
                         {dlogits, Access::out, {"dlogits", logits.rows, logits.cols, {DataType::bf16}}}})
      .with_parameters(CrossEntropyParameters{.scale = scale, .shard = held});
}

std::span<const KernelInfo> list_cross_entropy() {
  static constexpr std::array<KernelInfo, 5> kernels{{
      {"cross_entropy", "cross_entropy_forward", "loss += scale * sum of (lse [T] - logits [T,V] at the targets)",
       "4 T V flops; 2 T V + 8 T + 8 bytes"},
      {"cross_entropy", "cross_entropy_max", "max [T] of logits [T,V/n], one shard",
       "T V / n flops; 2 T V / n + 4 T bytes"},
      {"cross_entropy", "cross_entropy_sums", "sums [2,T]: of exp(logits [T,V/n] - max), and the logits at the targets",
       "3 T V / n flops; 2 T V / n + 16 T bytes"},
      {"cross_entropy", "cross_entropy_finish", "lse [T] and loss from max and sums of all shards",
       "4 T flops; 16 T + 8 bytes"},
      {"cross_entropy", "cross_entropy_backward", "dlogits [T,V] = scale * (softmax - one-hot target)",
       "3 T V flops; 4 T V + 8 T bytes"},
  }};
  return kernels;
}

}  // namespace underlap::kernels
