// SPDX-License-Identifier: Apache-2.0
#include "research/calibrate/rates/operation_works.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "kernels/activation/activation.hpp"
#include "kernels/adam/adam.hpp"
#include "kernels/attention_merge/attention_merge.hpp"
#include "kernels/bias/bias.hpp"
#include "kernels/cast/cast.hpp"
#include "kernels/copy/copy.hpp"
#include "kernels/cross_entropy/cross_entropy.hpp"
#include "kernels/elementwise/elementwise.hpp"
#include "kernels/embedding/embedding.hpp"
#include "kernels/gemm_fp8/gemm_fp8.hpp"
#include "kernels/head_blocks/head_blocks.hpp"
#include "kernels/layer_norm/layer_norm.hpp"
#include "kernels/quantize/quantize.hpp"
#include "kernels/random/random.hpp"
#include "kernels/reduction/reduction.hpp"
#include "kernels/rms_norm/rms_norm.hpp"
#include "kernels/rope/rope.hpp"
#include "kernels/segments/segments.hpp"
#include "kernels/transpose/transpose.hpp"
#include "kernels/zigzag/zigzag.hpp"

namespace underlap::bench {
namespace {

using Works = std::vector<Work>;

std::string shape_of(std::int64_t rows, std::int64_t cols) { return fmt::format("[{},{}]", rows, cols); }

void add_linears(Works& works, const LayerShape& l) {
  const auto add = [&](std::int64_t n, std::int64_t k) {
    std::ranges::move(linear_works(l.sequence, n, k), std::back_inserter(works));
  };
  add((l.heads + 2 * l.groups) * l.head_size, l.hidden);
  add(l.hidden, l.heads * l.head_size);
  add(2 * l.ffn, l.hidden);
  add(l.hidden, l.ffn);
}

void add_attention(Works& works, const LayerShape& l) {
  std::ranges::move(attention_works(l.sequence, l.heads, l.groups, l.head_size), std::back_inserter(works));
}

void add_rope(Works& works, const LayerShape& l) {
  Tensors t;
  const View table = t.f32(l.sequence, l.head_size);
  const Operation angles = kernels::rope_table(table, 0, 10'000);
  works.push_back({shape_of(l.sequence, l.head_size), angles});
  for (const std::int64_t heads : {l.heads, l.groups}) {
    const View x = t.bf16(l.sequence, heads * l.head_size);
    const std::string shape = fmt::format("S{}_A{}_D{}", l.sequence, heads, l.head_size);
    works.push_back({shape, kernels::rope_forward(x, table, l.head_size), {angles}});
    works.push_back({shape, kernels::rope_backward(x, table, l.head_size), {angles}});
  }
}

void add_norms(Works& works, const LayerShape& l) {
  Tensors t;
  const std::string shape = shape_of(l.sequence, l.hidden);
  const View x = t.bf16(l.sequence, l.hidden), weight = t.bf16(1, l.hidden), rstd = t.f32(1, l.sequence);
  const View dout = t.bf16(l.sequence, l.hidden), dx = t.bf16(l.sequence, l.hidden);
  const View residual = t.bf16(l.sequence, l.hidden);
  const Operation forward = kernels::rms_norm_forward(x, weight, dx, rstd, 1e-5);
  works.push_back({shape, forward});
  works.push_back({shape, kernels::rms_norm_dgrad({x, weight, rstd, dout, residual, dx}), {forward}});
  works.push_back({shape, kernels::rms_norm_wgrad(x, rstd, dout, t.f32(1, l.hidden)), {forward}});
  const View bias = t.bf16(1, l.hidden), mean = t.f32(1, l.sequence);
  const Operation shifted = kernels::layer_norm_forward({x, weight, bias, dx, mean, rstd}, 1e-5);
  works.push_back({shape, shifted});
  works.push_back({shape, kernels::layer_norm_dgrad({x, weight, mean, rstd, dout, residual, dx}), {shifted}});
  const View dweight = t.f32(1, l.hidden), dbias = t.f32(1, l.hidden);
  works.push_back({shape, kernels::layer_norm_wgrad({x, mean, rstd, dout, dweight, dbias}), {shifted}});
  works.push_back({shape, kernels::biased_residual_add(x, residual, bias, dx)});
  works.push_back({shape, kernels::bias_wgrad(x, dbias)});
}

void add_activations(Works& works, const LayerShape& l) {
  Tensors t;
  const std::string shape = shape_of(l.sequence, l.ffn);
  const View wide = t.bf16(l.sequence, 2 * l.ffn), other_wide = t.bf16(l.sequence, 2 * l.ffn);
  const View a = t.bf16(l.sequence, l.ffn), b = t.bf16(l.sequence, l.ffn), c = t.bf16(l.sequence, l.ffn);
  works.push_back({shape, kernels::swiglu_forward(wide, a)});
  works.push_back({shape, kernels::swiglu_backward(wide, a, other_wide)});
  works.push_back({shape, kernels::gelu_forward(a, b)});
  works.push_back({shape, kernels::gelu_backward(a, b, c)});
  works.push_back({shape, kernels::squared_relu_forward(a, b)});
  works.push_back({shape, kernels::squared_relu_backward(a, b, c)});
  works.push_back({shape, kernels::residual_add(a, b, c)});
}

void add_ends(Works& works, const LayerShape& l) {
  Tensors t;
  const auto tokens_of = static_cast<std::int32_t>(l.vocabulary);
  const View tokens = t.make(DataType::i32, 1, l.sequence), hidden = t.bf16(l.sequence, l.hidden);
  const std::string shape = shape_of(l.sequence, l.hidden);
  works.push_back(
      {shape,
       kernels::embedding_forward(tokens, t.bf16(l.vocabulary, l.hidden), t.bf16(l.sequence, l.hidden), hidden),
       {},
       tokens_of});
  works.push_back({shape,
                   kernels::embedding_wgrad(tokens, hidden, t.f32(l.vocabulary, l.hidden), t.f32(l.sequence, l.hidden)),
                   {},
                   tokens_of});
  const View logits = t.bf16(l.sequence, l.vocabulary), lse = t.f32(1, l.sequence);
  const double scale = 1.0 / static_cast<double>(l.sequence);
  const Operation forward = kernels::cross_entropy_forward(logits, tokens, lse, t.f32(1, 1), scale);
  const std::string wide = shape_of(l.sequence, l.vocabulary);
  works.push_back({wide, forward, {}, tokens_of});
  works.push_back({wide,
                   kernels::cross_entropy_backward(logits, tokens, lse, t.bf16(l.sequence, l.vocabulary), scale),
                   {forward},
                   tokens_of});
}

/// Work of a context-parallel rank other than attention: merging tiles' results, and reordering rows and heads.
void add_context_parallel(Works& works, const LayerShape& l) {
  Tensors t;
  const std::int64_t queries = l.heads * l.head_size, ranks = 4;
  const std::string shape = shape_of(l.sequence, queries), lse_shape = shape_of(l.heads, l.sequence);
  const View out = t.bf16(l.sequence, queries), other = t.bf16(l.sequence, queries);
  const View step = t.f32(l.heads, l.sequence), lse = t.f32(l.heads, l.sequence), sum = t.f32(l.sequence, queries);
  works.push_back({lse_shape, kernels::merge_lse(step, lse)});
  works.push_back({shape + "_first", kernels::attention_correction(out, step, lse, sum, true)});
  works.push_back({shape, kernels::attention_correction(out, step, lse, sum, false)});
  works.push_back({shape, kernels::accumulate(out, other)});
  works.push_back({shape, kernels::to_sequence_order(out, other, 1, ranks)});
  works.push_back({shape, kernels::to_rank_order(out, other, 1, ranks)});
  const View blocks = t.bf16(ranks * l.sequence, queries / ranks);
  works.push_back({shape, kernels::heads_to_blocks(out, blocks)});
  works.push_back({shape, kernels::blocks_to_heads(blocks, out)});
}

/// One rank's part of a vocabulary that is split over four ranks.
void add_shared_vocabulary(Works& works, const LayerShape& l) {
  Tensors t;
  const auto tokens_of = static_cast<std::int32_t>(l.vocabulary);
  const View logits = t.bf16(l.sequence, l.vocabulary / 4), tokens = t.make(DataType::i32, 1, l.sequence);
  const View max = t.f32(1, l.sequence), sums = t.f32(2, l.sequence);
  const std::string shape = shape_of(l.sequence, l.vocabulary / 4);
  const Operation largest = kernels::cross_entropy_max(logits, max);
  const Operation summed =
      kernels::cross_entropy_sums(logits, tokens, max, sums, {.first = 0, .vocab_size = l.vocabulary});
  works.push_back({shape, largest});
  works.push_back({shape, summed, {largest}, tokens_of});
  works.push_back({shape_of(2, l.sequence),
                   kernels::cross_entropy_finish(max, sums, t.f32(1, l.sequence), t.f32(1, 1), 1),
                   {kernels::fill(sums, 1)}});
}

void add_optimizer(Works& works, const LayerShape& l) {
  Tensors t;
  const std::string shape = shape_of(1, l.parameters);
  const View grad = t.f32(1, l.parameters), v = t.f32(1, l.parameters), param = t.bf16(1, l.parameters);
  const View scalar = t.f32(1, 1);
  works.push_back({shape,
                   kernels::adam({.grad = grad,
                                  .grad_factor = scalar,
                                  .main = t.f32(1, l.parameters),
                                  .m = t.f32(1, l.parameters),
                                  .v = v,
                                  .param = param,
                                  .nonfinite = t.make(DataType::i32, 1, 1)},
                                 {}),
                   {kernels::fill(v, 0.01)}});  // a mean of squares is not negative
  works.push_back({shape + "_f32", kernels::sum_of_squares(grad, scalar)});
  works.push_back({shape + "_bf16", kernels::sum_of_squares(param, scalar)});
  // Ranges that cover the whole tensor, as many as a bucket has parameters.
  constexpr std::int64_t kRanges = 32;
  const Tensor ranges = t.make(DataType::f64, 1, 2 * kRanges).tensor;
  std::vector<Operation> bounds;
  for (std::int64_t i = 0; i < 2 * kRanges; ++i)
    bounds.push_back(kernels::fill(flat(ranges, i, 1), static_cast<double>((i + 1) / 2 * l.parameters / kRanges)));
  works.push_back({fmt::format("{}_f32_in_{}", shape, kRanges),
                   kernels::sum_of_squares_in(grad, matrix(ranges, kRanges, 2), scalar), bounds});
  works.push_back({shape_of(1, 1), kernels::clip_factor(scalar, t.f32(1, 1), 1), {kernels::fill(scalar, 4)}});
}

/// A forward product in fp8 as in training, and the other operations on fp8 tensors.
void add_fp8(Works& works, const LayerShape& l) {
  Tensors t;
  const auto fp8 = [&t](const View& like) { return t.make(DataType::f8e4m3, like.rows, like.cols); };
  const View x = t.bf16(l.sequence, l.hidden), w = t.bf16(l.hidden, l.hidden), scale = t.f32(1, 1), amax = t.f32(1, 1);
  const View qx = fp8(x), qw = fp8(w);
  const Operation set_scale = kernels::fill(scale, 0.01), quantize_x = kernels::quantize(x, scale, qx);
  const std::string shape = shape_of(x.rows, x.cols);
  const View main = t.f32(1, l.parameters), begins = t.make(DataType::i32, 1, 1);
  const kernels::Segments one_segment{.begins = begins};
  works.push_back({shape_of(1, l.parameters), kernels::segmented_amax(main, one_segment, amax), {}, 1});
  works.push_back({shape_of(1, l.parameters),
                   kernels::segmented_quantize(main, one_segment, scale, t.make(DataType::f8e4m3, 1, l.parameters)),
                   {set_scale},
                   1});
  works.push_back({shape, kernels::amax(x, amax), {kernels::fill(amax, 0)}});
  works.push_back({shape_of(1, 1), kernels::fp8_scale(amax, scale, DataType::f8e4m3), {kernels::fill(amax, 1)}});
  works.push_back({shape, quantize_x, {set_scale}});
  works.push_back({shape, kernels::dequantize(qx, scale, x), {set_scale}});
  const View scales = t.f32(1, 8);
  works.push_back({shape,
                   kernels::sum_fp8_slots(qx, scales, t.bf16(x.rows / scales.cols, x.cols)),
                   {kernels::fill(scales, 1), set_scale, quantize_x}});
  works.push_back({shape, kernels::transpose(qx, t.make(DataType::f8e4m3, l.hidden, l.sequence))});
  works.push_back(
      {fmt::format("M{}_N{}_K{}", l.sequence, l.hidden, l.hidden),
       kernels::gemm_fp8(
           {.a = qx, .a_inverse_scale = scale, .b = qw, .b_inverse_scale = scale, .c = t.bf16(l.sequence, l.hidden)}),
       {set_scale, quantize_x, kernels::quantize(w, scale, qw)}});
}

/// Other operations on flat buffers of parameters and gradients.
void add_flat(Works& works, const LayerShape& l) {
  Tensors t;
  const std::string shape = shape_of(1, l.parameters);
  const View wide = t.f32(1, l.parameters), narrow = t.bf16(1, l.parameters);
  constexpr std::int64_t kSlots = 8;
  works.push_back({shape + "_to_bf16", kernels::cast(wide, narrow)});
  works.push_back({shape + "_to_f32", kernels::cast(narrow, wide)});
  works.push_back({shape + "_f32", kernels::scale(wide, 1)});
  works.push_back({shape + "_bf16", kernels::scale(narrow, 1)});
  works.push_back({shape + "_f32", kernels::fill(wide, 1)});
  works.push_back({shape + "_f32", kernels::random_normal(wide, 1, 0, 0.02)});
  works.push_back(
      {shape + "_f32", kernels::random_normal_block(wide, 1, 0, 0.02, {.local_cols = 1024, .whole_cols = 4096})});
  const View pieces[] = {narrow, t.bf16(1, l.parameters)};
  works.push_back({shape + "_bf16", kernels::copy(narrow, pieces[1])});
  works.push_back({shape_of(2, l.parameters) + "_bf16", kernels::concatenate(pieces, t.bf16(1, 2 * l.parameters))});
  works.push_back({shape_of(kSlots, l.parameters / kSlots) + "_bf16",
                   kernels::sum_slots(t.bf16(kSlots, l.parameters / kSlots), t.bf16(1, l.parameters / kSlots), 1)});
}

}  // namespace

std::vector<Work> operation_works(const LayerShape& layer) {
  Works works;
  add_linears(works, layer);
  add_attention(works, layer);
  add_rope(works, layer);
  add_norms(works, layer);
  add_activations(works, layer);
  add_ends(works, layer);
  add_context_parallel(works, layer);
  add_shared_vocabulary(works, layer);
  add_optimizer(works, layer);
  add_flat(works, layer);
  add_fp8(works, layer);
  return works;
}

}  // namespace underlap::bench
