// SPDX-License-Identifier: Apache-2.0
#pragma once

// Normalization of rows: forward, gradient of the input (dgrad), gradients of weight and bias (wgrad). Covers RMSNorm
// and, with kCentered, LayerNorm, which first subtracts each row's mean and has a bias.
//
//             bytes an element of x                      flops: RMSNorm, LayerNorm
//   forward   x 2 read, out 2 written                    4, 7
//   dgrad     x, dout, residual 6 read, dx 2 written     8, 11
//   wgrad     x, dout 4 read                             3, 5   and 4 H bytes a block and sum, written and read again
//
// Bound by memory, if each row is read once. But no element of a row can be written before the sums over the row are
// known. So the row waits in registers, and the next one is loaded meanwhile:
//
//   a team   | load row i + 1 into registers .................................................... |
//            | add up row i | add lanes, then warps (a barrier) | scale row i, round, store        |
//
// Persistent blocks, one a multiprocessor, of up to 1024 threads. A block is divided into teams of warps, a row each:
// with H 4096 forward takes 8 warps to hold a row, so a block has 4 teams. In round i, team j of block b processes row
// (i B + b) 4 + j, with B blocks. All teams of a block take the same number of rounds, so that its barriers serve every
// team. LaunchContext::norm_sm_margin multiprocessors stay free for communication kernels that run at the same time, as
// with Transformer Engine's sm_margin.
//
// Two kinds of rows go to the kernels with `any` in their name, which read a row again for each pass over it: rows that
// no team can hold (over 16384 elements in forward, 8192 in dgrad), and rows that are not whole groups of 16 bytes.
//
// wgrad has no sum over a row. A thread keeps 8 columns and adds up rows; the sums of teams, and then of blocks, are
// added in a fixed order. So its result is bitwise reproducible, but changes with the number of blocks, which depends
// on the GPU's multiprocessors and the margin.
#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/cuda/column_sums.cuh"

namespace underlap::cuda {

/// Element i of 16 bytes of bf16.
__device__ inline float element_of(uint4 quad, int i) {
  return static_cast<float>(std::bit_cast<Group<bf16, 8>>(quad).element[i]);
}

/// A row's groups that a thread holds, kHeld of N elements; those past the row's end are zero, which adds nothing. As
/// they were loaded: what looks at single elements would wait for them. Neighboring threads hold neighboring groups,
/// so a warp loads 512 bytes at an access.
template <int N, int kHeld>
struct Held {
  static_assert(sizeof(Group<bf16, N>) == sizeof(uint4));
  uint4 quad[kHeld];

  __device__ void take(const bf16* row, std::int64_t cols, const Member& member, unsigned team_threads) {
#pragma unroll
    for (int k = 0; k < kHeld; ++k) {
      const std::int64_t col = (member.thread + std::int64_t{k} * team_threads) * N;
      quad[k] = uint4{};
      if (col < cols) quad[k] = *reinterpret_cast<const uint4*>(row + col);
    }
  }
  __device__ float at(int k, int i) const { return element_of(quad[k], i); }
};

/// Calls f(k, col) for each group that a thread holds.
template <int N, int kHeld, class F>
__device__ void for_each_held(std::int64_t cols, const Member& member, unsigned team_threads, F f) {
#pragma unroll
  for (int k = 0; k < kHeld; ++k) {
    const std::int64_t col = (member.thread + std::int64_t{k} * team_threads) * N;
    if (col < cols) f(k, col);
  }
}

/// Multiprocessors that a norm may run on.
inline std::int64_t norm_sms(const LaunchContext& context) {
  return std::max(1, context.num_sms - context.norm_sm_margin);
}

/// A row as its sums leave it; without kCentered its mean counts as 0.
template <bool kCentered>
struct Statistics {
  float mean = 0, rstd = 0;

  __device__ float normalized(float x) const {
    if constexpr (kCentered)
      return (x - mean) * rstd;
    else
      return x * rstd;
  }
};

/// Of LayerNorm; of RMSNorm bias and mean are nullptr.
struct NormForward {
  Rows<const bf16> x;
  const bf16 *weight, *bias;
  Rows<bf16> out;
  float *mean, *rstd;
  float epsilon;
  unsigned team_warps;
};

__device__ inline float reciprocal_root(float sum_of_squares, std::int64_t cols, float epsilon) {
  return 1.0F / sqrtf(sum_of_squares / static_cast<float>(cols) + epsilon);
}

template <bool kCentered>
__device__ void keep(const NormForward& t, std::int64_t row, const Statistics<kCentered>& of) {
  if constexpr (kCentered) t.mean[row] = of.mean;
  t.rstd[row] = of.rstd;
}

/// normalized * weight, with a bias plus that of the column.
template <bool kCentered>
__device__ bf16 forward_element(float normalized, float weight, bf16 bias) {
  if constexpr (kCentered)
    return narrowed<bf16>(normalized * weight + static_cast<float>(bias));
  else
    return narrowed<bf16>(normalized * weight);
}

/// The biases of a group of columns, where there are any.
template <int N, bool kCentered>
__device__ Group<bf16, N> biases(const NormForward& t, std::int64_t col) {
  if constexpr (kCentered)
    return load<N>(t.bias + col);
  else
    return {};
}

/// Rows that fit into a team's registers. 1024 threads have 64 registers each, of which weight, this row and the next
/// take 24 with kHeld 2; a bias is read from a cache.
template <int N, int kHeld, bool kCentered>
__global__ void __launch_bounds__(1024) norm_forward_kernel(NormForward t) {
  __shared__ float slots[2 * kMaxWarps];
  const unsigned team_threads = t.team_warps * kWarpThreads;
  const Member member(team_threads);
  const std::int64_t cols = t.x.cols, teams = blockDim.x / team_threads;
  Held<N, kHeld> weight, next;
  weight.take(t.weight, cols, member, team_threads);
  std::int64_t row = blockIdx.x * teams + member.team;
  if (row < t.x.rows) next.take(t.x.at(row, 0), cols, member, team_threads);
  // first is the row of the block's first team, so that all teams leave the loop together.
  unsigned num_sums = 0;
  for (std::int64_t first = blockIdx.x * teams; first < t.x.rows; first += gridDim.x * teams) {
    const Held<N, kHeld> x = next;  // whose loads were issued a round ago
    const bool has_row = row < t.x.rows;
    const std::int64_t next_row = row + gridDim.x * teams;
    if (next_row < t.x.rows) next.take(t.x.at(next_row, 0), cols, member, team_threads);
    Statistics<kCentered> of;
    float sum = 0;
    if constexpr (kCentered) {
      for (int k = 0; k < kHeld; ++k)
        for (int i = 0; i < N; ++i) sum += x.at(k, i);
      of.mean = sum_team(sum, t.team_warps, num_sums++, slots) / static_cast<float>(cols);
      sum = 0;
      for_each_held<N, kHeld>(cols, member, team_threads, [&](int k, std::int64_t) {
        for (int i = 0; i < N; ++i) sum += (x.at(k, i) - of.mean) * (x.at(k, i) - of.mean);
      });
    } else {
      for (int k = 0; k < kHeld; ++k)
        for (int i = 0; i < N; ++i) sum += x.at(k, i) * x.at(k, i);
    }
    of.rstd = reciprocal_root(sum_team(sum, t.team_warps, num_sums++, slots), cols, t.epsilon);
    if (has_row) {
      if (member.thread == 0) keep(t, row, of);
      for_each_held<N, kHeld>(cols, member, team_threads, [&](int k, std::int64_t col) {
        const auto bias = biases<N, kCentered>(t, col);
        Group<bf16, N> result;
        for (int i = 0; i < N; ++i)
          result.element[i] = forward_element<kCentered>(of.normalized(x.at(k, i)), weight.at(k, i), bias.element[i]);
        store(t.out.at(row, col), result);
      });
    }
    row = next_row;
  }
}

/// Rows of any width, in whole groups of N: a block a row, which is read for each sum and for the result, but for the
/// first time from a cache.
template <int N, bool kCentered>
__global__ void __launch_bounds__(1024) norm_forward_any_kernel(NormForward t) {
  __shared__ float slots[2 * kMaxWarps];
  const std::int64_t begin = std::int64_t{threadIdx.x} * N, step = std::int64_t{blockDim.x} * N;
  unsigned num_sums = 0;
  for (std::int64_t row = blockIdx.x; row < t.x.rows; row += gridDim.x) {
    // The sum of f(x) over the row.
    const auto sum_over_row = [&](auto f) {
      float sum = 0;
      for (std::int64_t c = begin; c < t.x.cols; c += step) {
        const auto x = load<N>(t.x.at(row, c));
        for (int i = 0; i < N; ++i) sum += f(static_cast<float>(x.element[i]));
      }
      return sum_team(sum, t.team_warps, num_sums++, slots);
    };
    Statistics<kCentered> of;
    if constexpr (kCentered) of.mean = sum_over_row([](float x) { return x; }) / static_cast<float>(t.x.cols);
    const float mean = of.mean;
    of.rstd = reciprocal_root(sum_over_row([=](float x) { return kCentered ? (x - mean) * (x - mean) : x * x; }),
                              t.x.cols, t.epsilon);
    if (threadIdx.x == 0) keep(t, row, of);
    for (std::int64_t c = begin; c < t.x.cols; c += step) {
      auto x = load<N>(t.x.at(row, c));
      const auto weight = load<N>(t.weight + c);
      const auto bias = biases<N, kCentered>(t, c);
      for (int i = 0; i < N; ++i)
        x.element[i] = forward_element<kCentered>(of.normalized(static_cast<float>(x.element[i])),
                                                  static_cast<float>(weight.element[i]), bias.element[i]);
      store(t.out.at(row, c), x);
    }
  }
}

/// The kernel that holds rows where teams can, else the one for rows of any width. team_warps is found here.
template <bool kCentered>
void launch_norm_forward(NormForward t, LaunchContext& context) {
  constexpr int kHeld = 2;
  const Teams teams(t.x.cols, 8, kHeld);
  const auto vector = [&](const bf16* data) { return Rows<const bf16>{data, 1, t.x.cols, t.x.cols}; };
  const bool grouped = are_grouped(t.x, vector(t.weight), vector(kCentered ? t.bias : t.weight), t.out);
  if (grouped && teams.holds(t.x.cols, 8, kHeld)) {
    t.team_warps = teams.warps;
    return launch(norm_forward_kernel<8, kHeld, kCentered>, teams.shape(t.x.rows, norm_sms(context)), context.stream,
                  t);
  }
  t.team_warps = Teams(t.x.cols, grouped ? 8 : 1, 1).warps;
  launch(grouped ? norm_forward_any_kernel<8, kCentered> : norm_forward_any_kernel<1, kCentered>,
         {.blocks = persistent_blocks(t.x.rows, norm_sms(context)), .threads = t.team_warps * kWarpThreads},
         context.stream, t);
}

/// Of LayerNorm; of RMSNorm mean is nullptr.
struct NormDgrad {
  Rows<const bf16> x;
  const bf16* weight;
  const float *mean, *rstd;
  Rows<const bf16> dout, residual;
  Rows<bf16> dx;
  unsigned team_warps;

  template <bool kCentered>
  __device__ Statistics<kCentered> statistics(std::int64_t row) const {
    if constexpr (kCentered)
      return {mean[row], rstd[row]};
    else
      return {0, rstd[row]};
  }
};

/// What a thread holds of a row of dgrad's inputs.
template <int N, int kHeld, bool kCentered>
struct DgradRow {
  Held<N, kHeld> x, dout, residual;
  Statistics<kCentered> of;

  __device__ void take(const NormDgrad& t, std::int64_t row, const Member& member, unsigned team_threads) {
    x.take(t.x.at(row, 0), t.x.cols, member, team_threads);
    dout.take(t.dout.at(row, 0), t.x.cols, member, team_threads);
    residual.take(t.residual.at(row, 0), t.x.cols, member, team_threads);
    of = t.statistics<kCentered>(row);
  }
};

/// What the gradient loses of a row: the mean of scaled * normalized along it, where centered also that of scaled.
/// scaled: dout * weight.
struct Lost {
  float along = 0, mean = 0;
};

template <bool kCentered>
__device__ bf16 dgrad_element(float residual, float rstd, float scaled, float normalized, const Lost& lost) {
  if constexpr (kCentered)
    return narrowed<bf16>(residual + rstd * (scaled - lost.mean - normalized * lost.along));
  else
    return narrowed<bf16>(residual + rstd * (scaled - normalized * lost.along));
}

/// As norm_forward_kernel, with three tensors to hold: weight and two rows of each take 28 registers with kHeld 1. What
/// lies past a row's end has a gradient of zero and adds nothing.
template <int N, int kHeld, bool kCentered>
__global__ void __launch_bounds__(1024) norm_dgrad_kernel(NormDgrad t) {
  __shared__ float slots[2 * kMaxWarps];
  const unsigned team_threads = t.team_warps * kWarpThreads;
  const Member member(team_threads);
  const std::int64_t cols = t.x.cols, teams = blockDim.x / team_threads;
  const auto mean_of = [&](float sum, unsigned number) {
    return sum_team(sum, t.team_warps, number, slots) / static_cast<float>(cols);
  };
  Held<N, kHeld> weight;
  weight.take(t.weight, cols, member, team_threads);
  DgradRow<N, kHeld, kCentered> next{};
  std::int64_t row = blockIdx.x * teams + member.team;
  if (row < t.x.rows) next.take(t, row, member, team_threads);
  unsigned num_sums = 0;
  for (std::int64_t first = blockIdx.x * teams; first < t.x.rows; first += gridDim.x * teams) {
    const bool has_row = row < t.x.rows;
    const std::int64_t next_row = row + gridDim.x * teams;
    const DgradRow<N, kHeld, kCentered> at = next;
    if (next_row < t.x.rows) next.take(t, next_row, member, team_threads);
    float along = 0, sum = 0;
    for (int k = 0; k < kHeld; ++k)
      for (int i = 0; i < N; ++i) {
        const float scaled = at.dout.at(k, i) * weight.at(k, i);
        along += at.of.normalized(at.x.at(k, i)) * scaled;
        if constexpr (kCentered) sum += scaled;
      }
    Lost lost{.along = mean_of(along, num_sums++)};
    if constexpr (kCentered) lost.mean = mean_of(sum, num_sums++);
    if (has_row) {
      for_each_held<N, kHeld>(cols, member, team_threads, [&](int k, std::int64_t col) {
        Group<bf16, N> result;
        for (int i = 0; i < N; ++i)
          result.element[i] =
              dgrad_element<kCentered>(at.residual.at(k, i), at.of.rstd, at.dout.at(k, i) * weight.at(k, i),
                                       at.of.normalized(at.x.at(k, i)), lost);
        store(t.dx.at(row, col), result);
      });
    }
    row = next_row;
  }
}

/// Like norm_forward_any_kernel: reads x, dout and weight for the sums, and reads them again, with residual, for the
/// result.
template <int N, bool kCentered>
__global__ void __launch_bounds__(1024) norm_dgrad_any_kernel(NormDgrad t) {
  __shared__ float slots[2 * kMaxWarps];
  const std::int64_t begin = std::int64_t{threadIdx.x} * N, step = std::int64_t{blockDim.x} * N;
  const auto mean_of = [&](float sum, unsigned number) {
    return sum_team(sum, t.team_warps, number, slots) / static_cast<float>(t.x.cols);
  };
  unsigned num_sums = 0;
  for (std::int64_t row = blockIdx.x; row < t.x.rows; row += gridDim.x) {
    const Statistics<kCentered> of = t.statistics<kCentered>(row);
    // Calls f(i, normalized, scaled) for the elements of the group at c.
    const auto for_each_product = [&](std::int64_t c, auto f) {
      const auto x = load<N>(t.x.at(row, c)), dout = load<N>(t.dout.at(row, c)), weight = load<N>(t.weight + c);
      for (int i = 0; i < N; ++i)
        f(i, of.normalized(static_cast<float>(x.element[i])),
          static_cast<float>(dout.element[i]) * static_cast<float>(weight.element[i]));
    };
    float along = 0, sum = 0;
    for (std::int64_t c = begin; c < t.x.cols; c += step)
      for_each_product(c, [&](int, float normalized, float scaled) {
        along += normalized * scaled;
        if constexpr (kCentered) sum += scaled;
      });
    Lost lost{.along = mean_of(along, num_sums++)};
    if constexpr (kCentered) lost.mean = mean_of(sum, num_sums++);
    for (std::int64_t c = begin; c < t.x.cols; c += step) {
      auto group = load<N>(t.residual.at(row, c));
      for_each_product(c, [&](int i, float normalized, float scaled) {
        group.element[i] =
            dgrad_element<kCentered>(static_cast<float>(group.element[i]), of.rstd, scaled, normalized, lost);
      });
      store(t.dx.at(row, c), group);
    }
  }
}

/// As launch_norm_forward.
template <bool kCentered>
void launch_norm_dgrad(NormDgrad t, LaunchContext& context) {
  constexpr int kHeld = 1;
  const Teams teams(t.x.cols, 8, kHeld);
  const Rows<const bf16> weight{t.weight, 1, t.x.cols, t.x.cols};
  const bool grouped = are_grouped(t.x, weight, t.dout, t.residual, t.dx);
  if (grouped && teams.holds(t.x.cols, 8, kHeld)) {
    t.team_warps = teams.warps;
    return launch(norm_dgrad_kernel<8, kHeld, kCentered>, teams.shape(t.x.rows, norm_sms(context)), context.stream, t);
  }
  t.team_warps = Teams(t.x.cols, grouped ? 8 : 1, 1).warps;
  launch(grouped ? norm_dgrad_any_kernel<8, kCentered> : norm_dgrad_any_kernel<1, kCentered>,
         {.blocks = persistent_blocks(t.x.rows, norm_sms(context)), .threads = t.team_warps * kWarpThreads},
         context.stream, t);
}

/// The terms of a weight's gradient, dout * normalized, and where kCentered of a bias's, dout.
template <bool kCentered>
struct NormTerms {
  static constexpr int kSums = kCentered ? 2 : 1;
  Rows<const bf16> x, dout;
  const float *mean, *rstd;

  template <int N>
  struct Loaded {
    Group<bf16, N> x, dout;
    Statistics<kCentered> of;
  };

  template <int N>
  __device__ Loaded<N> load(std::int64_t row, std::int64_t col) const {
    Loaded<N> loaded{cuda::load<N>(x.at(row, col)), cuda::load<N>(dout.at(row, col)), {}};
    if constexpr (kCentered) loaded.of.mean = mean[row];
    loaded.of.rstd = rstd[row];
    return loaded;
  }
  template <int N>
  __device__ void add(const Loaded<N>& loaded, float (&totals)[kSums][N]) const {
    for (int i = 0; i < N; ++i) {
      const auto dout_of = static_cast<float>(loaded.dout.element[i]);
      totals[0][i] += dout_of * loaded.of.normalized(static_cast<float>(loaded.x.element[i]));
      if constexpr (kCentered) totals[1][i] += dout_of;
    }
  }
};

/// Adds to dweight, and where kCentered to dbias.
template <bool kCentered>
void launch_norm_wgrad(const NormTerms<kCentered>& terms,
                       const std::array<BoundView, NormTerms<kCentered>::kSums>& gradients, LaunchContext& context) {
  launch_column_sums(terms, terms.x.rows, terms.x.cols, are_grouped(terms.x, terms.dout), gradients, norm_sms(context),
                     context);
}

}  // namespace underlap::cuda
