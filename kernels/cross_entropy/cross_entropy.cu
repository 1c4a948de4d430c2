// SPDX-License-Identifier: Apache-2.0
//
// Cross-entropy of logits [T, V], and its gradient; of all the vocabulary, or of the columns that one of n ranks has.
//
//              bytes a logit        flops   a row's result
//   forward    2 read               4       lse and loss, in one pass
//   max        2 read               1       the shard's largest logit               ranks then take the largest
//   sums       2 read               3       sum of exp(logit - max), target logit   ranks then add these up
//   finish     16 a token, no logit         lse and loss
//   backward   2 read, 2 written    3       scale * (exp(logit - lse) - one-hot)
//
// Bound by memory, since exp is the fast one. Forward reads a row once: it keeps the largest logit so far and the sum
// of exp relative to it, and scales the sum when a larger one comes. A row is a block's:
//
//   threads   | groups t, t + threads, ...: (largest, sum) each
//   warp      | five shuffles join the lanes' pairs
//   block     | warps' pairs in shared memory, a barrier; the first warp joins them: lse, and the row's loss in fp64
//   then      | a second kernel of one block adds the rows' losses in fp64
//
// A row's sum is fp32, in an order that depends on V and alignment alone. The loss is fp64, in an order that depends on
// T alone. Source: Milakov & Gimelshein 2018 (online softmax); Shoeybi et al. 2019, section 3 (shared vocabulary).
#include <array>
#include <cfloat>
#include <cmath>

#include "kernels/cross_entropy/cross_entropy_parameters.hpp"
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/math.cuh"
#include "kernels/cuda/reduce.cuh"

namespace underlap::cuda {
namespace {

using kernels::CrossEntropyParameters;
using kernels::VocabShard;

/// sum of exp(x - largest) over some of a row; of nothing, where largest is the lowest number and not -infinity, whose
/// difference with itself would be NaN.
struct ExpSum {
  float largest = -FLT_MAX;
  float sum = 0;
};

/// Both sums relative to the larger of the two. Symmetric, so that both lanes of a shuffle get the same bits.
struct JoinExpSums {
  __device__ ExpSum operator()(const ExpSum& a, const ExpSum& b) const {
    const float largest = fmaxf(a.largest, b.largest);
    return {largest, a.sum * exp_fast(a.largest - largest) + b.sum * exp_fast(b.largest - largest)};
  }
};

/// Scales the sum once a group, by 1 where none of its logits is larger. NaN is passed over by fmaxf and kept by the
/// sum.
template <int N>
__device__ void add_logits(ExpSum& total, const Group<bf16, N>& logits) {
  float largest = total.largest;
  for (int i = 0; i < N; ++i) largest = fmaxf(largest, static_cast<float>(logits.element[i]));
  total.sum *= exp_fast(total.largest - largest);
  total.largest = largest;
  for (int i = 0; i < N; ++i) total.sum += exp_fast(static_cast<float>(logits.element[i]) - largest);
}

/// 64 bytes a thread; the next are loaded when these have been added, and other warps fill the gap.
constexpr int kInFlight = 4;

/// Calls `add` for this thread's part of a row: groups of N, and single elements at its end, which one thread has.
template <int N, class Add>
__device__ void for_part_of_row(const bf16* row, std::int64_t cols, Add add) {
  const std::int64_t step = std::int64_t{blockDim.x} * N;
  std::int64_t c = std::int64_t{threadIdx.x} * N;
  for (; c + (kInFlight - 1) * step + N <= cols; c += kInFlight * step) {
    Group<bf16, N> loaded[kInFlight];
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) loaded[k] = load<N>(row + c + k * step);
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) add(loaded[k]);
  }
  for (; c + N <= cols; c += step) add(load<N>(row + c));
  for (; c < cols; ++c) add(load<1>(row + c));
}

/// Whether row t's target is one of the vocabulary; reports it where not.
__device__ bool is_valid(std::int32_t target, std::int64_t vocabulary, std::uint32_t* faults) {
  if (target >= 0 && target < vocabulary) return true;
  atomicOr(faults, std::uint32_t{kTargetOutsideVocabulary});
  return false;
}

/// One row a block. The row's loss is written, not added: adding is the next kernel's, in a fixed order.
template <int N>
__global__ void cross_entropy_forward_kernel(Rows<const bf16> logits, const std::int32_t* targets, float* lse,
                                             double* row_loss, std::uint32_t* faults) {
  __shared__ float largest_of_warp[kMaxWarps], sum_of_warp[kMaxWarps];
  const std::int64_t t = blockIdx.x;
  const unsigned lane = threadIdx.x % kWarpThreads, warp = threadIdx.x / kWarpThreads;
  ExpSum total;
  for_part_of_row<N>(logits.at(t, 0), logits.cols, [&](const auto& group) { add_logits(total, group); });
  // combine_warp for a pair: a shuffle moves one number.
  const auto join_lanes = [](ExpSum value) {
    for (int lanes = 1; lanes < static_cast<int>(kWarpThreads); lanes *= 2)
      value = JoinExpSums()(
          value, {__shfl_xor_sync(0xFFFFFFFFU, value.largest, lanes), __shfl_xor_sync(0xFFFFFFFFU, value.sum, lanes)});
    return value;
  };
  total = join_lanes(total);
  if (lane == 0) largest_of_warp[warp] = total.largest, sum_of_warp[warp] = total.sum;
  __syncthreads();
  if (warp != 0) return;
  const bool has_warp = lane < blockDim.x / kWarpThreads;
  total = join_lanes(has_warp ? ExpSum{largest_of_warp[lane], sum_of_warp[lane]} : ExpSum{});
  if (lane != 0) return;
  lse[t] = total.largest + logf(total.sum);
  const std::int32_t target = targets[t];
  row_loss[t] = is_valid(target, logits.cols, faults)
                    ? static_cast<double>(lse[t]) - static_cast<double>(static_cast<float>(*logits.at(t, target)))
                    : 0.0;
}

constexpr unsigned kLossThreads = 1024;

/// One block is enough: 8 bytes a row are negligible compared with the logits.
__global__ void add_losses_kernel(const double* row_loss, std::int64_t rows, double scale, float* loss) {
  __shared__ double slots[kMaxWarps];
  double sum = 0;
  for (std::int64_t t = threadIdx.x; t < rows; t += kLossThreads) sum += row_loss[t];
  sum = combine_block(sum, 0.0, slots, Plus());
  if (threadIdx.x == 0) *loss = static_cast<float>(static_cast<double>(*loss) + scale * sum);
}

/// A block a row. A row of a large vocabulary fills a large block's loads in flight several times.
LaunchShape blocks_of_rows(const Rows<const bf16>& logits, int group) {
  const std::int64_t groups = logits.cols / group;
  return {.blocks = static_cast<unsigned>(logits.rows), .threads = groups >= 2048 ? 512U : groups >= 256 ? 128U : 32U};
}

void forward_cuda(const Arguments& views, LaunchContext& context) {
  const auto logits = rows_of<const bf16>(views[0]);
  const int group = group_for(8, logits);
  auto* const row_loss = reinterpret_cast<double*>(context.workspace->take(logits.rows * sizeof(double)));
  launch(group == 1 ? cross_entropy_forward_kernel<1> : cross_entropy_forward_kernel<8>, blocks_of_rows(logits, group),
         context.stream, logits, views[1].as<const std::int32_t>(), views[2].as<float>(), row_loss, context.faults);
  launch(add_losses_kernel, {.blocks = 1, .threads = kLossThreads}, context.stream, row_loss, logits.rows,
         views.parameters<CrossEntropyParameters>().scale, views[3].as<float>());
}

struct Larger {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

/// One row a block.
template <int N>
__global__ void cross_entropy_max_kernel(Rows<const bf16> logits, float* max) {
  __shared__ float slots[kMaxWarps];
  float largest = -FLT_MAX;
  for_part_of_row<N>(logits.at(blockIdx.x, 0), logits.cols, [&](const auto& group) {
    for (const bf16 logit : group.element) largest = fmaxf(largest, static_cast<float>(logit));
  });
  largest = combine_block(largest, -FLT_MAX, slots, Larger());
  if (threadIdx.x == 0) max[blockIdx.x] = largest;
}

/// One row a block. All ranks' sums are relative to the same `max`, so they need only be added.
template <int N>
__global__ void cross_entropy_sums_kernel(Rows<const bf16> logits, const std::int32_t* targets, const float* max,
                                          Rows<float> sums, VocabShard shard, std::uint32_t* faults) {
  __shared__ float slots[kMaxWarps];
  const std::int64_t t = blockIdx.x;
  const float largest = max[t];
  float sum = 0;
  for_part_of_row<N>(logits.at(t, 0), logits.cols, [&](const auto& group) {
    for (const bf16 logit : group.element) sum += exp_fast(static_cast<float>(logit) - largest);
  });
  sum = combine_block(sum, 0.0F, slots, Plus());
  if (threadIdx.x != 0) return;
  const std::int64_t column = targets[t] - shard.first;
  const bool is_held = is_valid(targets[t], shard.vocab_size, faults) && column >= 0 && column < logits.cols;
  *sums.at(0, t) = sum;
  *sums.at(1, t) = is_held ? static_cast<float>(*logits.at(t, column)) : 0.0F;
}

/// One block: what is left is a few numbers a token.
__global__ void cross_entropy_finish_kernel(const float* max, Rows<const float> sums, float* lse, double scale,
                                            float* loss) {
  __shared__ double slots[kMaxWarps];
  double sum = 0;
  for (std::int64_t t = threadIdx.x; t < sums.cols; t += kLossThreads) {
    lse[t] = max[t] + logf(*sums.at(0, t));
    sum += static_cast<double>(lse[t]) - static_cast<double>(*sums.at(1, t));
  }
  sum = combine_block(sum, 0.0, slots, Plus());
  if (threadIdx.x == 0) *loss = static_cast<float>(static_cast<double>(*loss) + scale * sum);
}

void max_cuda(const Arguments& views, LaunchContext& context) {
  const auto logits = rows_of<const bf16>(views[0]);
  const int group = group_for(8, logits);
  launch(group == 1 ? cross_entropy_max_kernel<1> : cross_entropy_max_kernel<8>, blocks_of_rows(logits, group),
         context.stream, logits, views[1].as<float>());
}

void sums_cuda(const Arguments& views, LaunchContext& context) {
  const auto logits = rows_of<const bf16>(views[0]);
  const int group = group_for(8, logits);
  launch(group == 1 ? cross_entropy_sums_kernel<1> : cross_entropy_sums_kernel<8>, blocks_of_rows(logits, group),
         context.stream, logits, views[1].as<const std::int32_t>(), views[2].as<const float>(),
         rows_of<float>(views[3]), views.parameters<CrossEntropyParameters>().shard, context.faults);
}

void finish_cuda(const Arguments& views, LaunchContext& context) {
  launch(cross_entropy_finish_kernel, {.blocks = 1, .threads = kLossThreads}, context.stream,
         views[0].as<const float>(), rows_of<const float>(views[1]), views[2].as<float>(),
         views.parameters<CrossEntropyParameters>().scale, views[3].as<float>());
}

/// Element by element, since lse is known. All groups of a row read its target and lse, from the cache; the first one
/// reports a target outside the vocabulary.
template <int N>
__global__ void cross_entropy_backward_kernel(Rows<const bf16> logits, const std::int32_t* targets, const float* lse,
                                              Rows<bf16> dlogits, float scale, VocabShard shard,
                                              std::uint32_t* faults) {
  for_each_group<N, 2>(
      logits.rows, logits.cols, [&](auto n, std::int64_t r, std::int64_t c) { return load<n()>(logits.at(r, c)); },
      [&](auto n, std::int64_t r, std::int64_t c, auto group) {
        const std::int64_t column = targets[r] - shard.first;
        const float log_sum = lse[r];
        if (c == 0) is_valid(targets[r], shard.vocab_size, faults);
        for (int i = 0; i < n(); ++i) {
          const float share = exp_fast(static_cast<float>(group.element[i]) - log_sum);
          group.element[i] = narrowed<bf16>((c + i == column ? share - 1.0F : share) * scale);
        }
        store(dlogits.at(r, c), group);
      });
}

void backward_cuda(const Arguments& views, LaunchContext& context) {
  const auto logits = rows_of<const bf16>(views[0]);
  const auto dlogits = rows_of<bf16>(views[3]);
  const auto p = views.parameters<CrossEntropyParameters>();
  const int group = group_for(8, logits, dlogits);
  launch(group == 1 ? cross_entropy_backward_kernel<1> : cross_entropy_backward_kernel<8>,
         blocks_of_groups(logits.rows, logits.cols, group, 2), context.stream, logits,
         views[1].as<const std::int32_t>(), views[2].as<const float>(), dlogits, static_cast<float>(p.scale), p.shard,
         context.faults);
}

}  // namespace

std::span<const CudaImplementationInfo> list_cuda_cross_entropy() {
  static constexpr std::array<CudaImplementationInfo, 5> all{{
      {"cross_entropy_forward", forward_cuda},
      {"cross_entropy_max", max_cuda},
      {"cross_entropy_sums", sums_cuda},
      {"cross_entropy_finish", finish_cuda},
      {"cross_entropy_backward", backward_cuda},
  }};
  return all;
}

}  // namespace underlap::cuda
