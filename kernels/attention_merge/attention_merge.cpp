// SPDX-License-Identifier: Apache-2.0
//
// The tiles' results are added with weights that sum to 1: exp(step_lse - lse), one for each token and head. lse must
// be that of all tiles by then, so it is merged over them first. Sums are fp32 from the first tile to the last.
#include "kernels/attention_merge/attention_merge.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/registry.hpp"
#include "kernels/shapes.hpp"
#include "kernels/vector_math.hpp"

namespace underlap::kernels {
namespace {

float log_add(float a, float b) { return std::max(a, b) + std::log1p(std::exp(-std::abs(a - b))); }

void merge_cpu(const Arguments& views) {
  const BoundView &step = views[0], &lse = views[1];
  for (std::int64_t r = 0; r < lse.rows; ++r) {
    const float* const from = step.row<float>(r);
    float* const to = lse.row<float>(r);
    for (std::int64_t c = 0; c < lse.cols; ++c) to[c] = log_add(to[c], from[c]);
  }
}

void correct(const bf16* from, float weight, float* to, std::int64_t n, bool is_first) {
  if (is_first) return widen(from, to, n, weight);
  for (std::int64_t i = 0; i < n; ++i) to[i] += static_cast<float>(from[i]) * weight;
}

void correction_cpu(const Arguments& views) {
  const BoundView &step_out = views[0], &step_lse = views[1], &lse = views[2], &sum = views[3];
  const bool is_first = views.parameters<bool>();
  const std::int64_t head_size = sum.cols / lse.rows;
  for (std::int64_t t = 0; t < sum.rows; ++t) {
    for (std::int64_t head = 0; head < lse.rows; ++head) {
      const float weight = std::exp(step_lse.row<float>(head)[t] - lse.row<float>(head)[t]);
      const std::int64_t first = head * head_size;
      correct(step_out.row<bf16>(t) + first, weight, sum.row<float>(t) + first, head_size, is_first);
    }
  }
}

}  // namespace

Operation merge_lse(const View& step, const View& lse) {
  static const NameId name = intern("merge_lse");
  return make_operation(name, merge_cpu, {.flops = 5 * static_cast<double>(lse.elements())},
                        {{step, Access::in, {"step", lse.rows, lse.cols, {DataType::f32}}},
                         {lse, Access::inout, {"lse", lse.rows, lse.cols, {DataType::f32}}}});
}

Operation attention_correction(const View& step_out, const View& step_lse, const View& lse, const View& sum,
                               bool is_first) {
  static const NameId name = intern("attention_correction");
  require_multiple("attention_correction", "columns of sum", sum.cols, "heads", lse.rows);
  return make_operation(name, correction_cpu, {.flops = (is_first ? 1 : 2) * static_cast<double>(sum.elements())},
                        {{step_out, Access::in, {"step_out", sum.rows, sum.cols, {DataType::bf16}}},
                         {step_lse, Access::in, {"step_lse", lse.rows, sum.rows, {DataType::f32}}},
                         {lse, Access::in, {"lse", lse.rows, sum.rows, {DataType::f32}}},
                         {sum, is_first ? Access::out : Access::inout, {"sum", sum.rows, sum.cols, {DataType::f32}}}})
      .with_parameters<bool>(is_first);
}

std::span<const KernelInfo> list_attention_merge() {
  static constexpr std::array<KernelInfo, 2> kernels{{
      {"attention_merge", "merge_lse", "lse [A,T] = log(exp(lse) + exp(step))", "5 A T flops; 12 A T bytes"},
      {"attention_merge", "attention_correction", "sum [T,A D] += exp(step_lse - lse) step_out, or = the first time",
       "2 T A D flops; 10 T A D + 8 A T bytes"},
  }};
  return kernels;
}

}  // namespace underlap::kernels
