// SPDX-License-Identifier: Apache-2.0
#pragma once

// Sums down the columns of a matrix, added to a gradient: of what a functor makes of each element.
//
//   a block   | its share of the rows, a contiguous one: each team every so many of them | teams in order | partial
//   sums then      | a warp's lanes take neighbouring columns, a block's warps every 32nd partial sum | warps in order
//   | +=
//
// A thread keeps 8 columns, and there is no sum over a row. Bound by memory; 4 bytes a block, sum and column are
// written and read again. The order is fixed, so bits are the same at every run, but they change with the number of
// blocks: where a GPU has more multiprocessors, or the margin is another.
#include <array>

#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/teams.cuh"

namespace underlap::cuda {

/// Whether `cols` elements of each row are whole groups of 16 bytes at whole multiples of 16 bytes.
template <class... T>
bool are_grouped(const Rows<T>&... matrices) {
  return group_for(8, matrices...) == 8 && ((matrices.cols % 8 == 0) && ...);
}

/// Terms of kSums sums, as a functor: `load<N>(row, col)` loads what N neighbouring columns need of a row, and
/// `add(loaded, totals)` adds their terms to totals[kSums][N].
template <class Terms>
struct ColumnSums {
  Terms terms;
  std::int64_t rows = 0, cols = 0;
  float* partials = nullptr;  ///< [kSums, blocks, cols], in the workspace
  unsigned team_warps = 1;
};

/// Rows that a thread has loaded before it adds the first: for one sum 6 loads of 16 bytes where a row takes two, as
/// much as fits beside 8 sums in 64 registers.
template <class Terms>
inline constexpr int kRowsInFlight = Terms::kSums == 1 ? 3 : 2;

/// The sums of N columns from `col`: over every `step`-th row from `row` to `end`.
template <int N, class Terms>
__device__ void add_rows(const Terms& terms, std::int64_t row, std::int64_t end, std::int64_t step, std::int64_t col,
                         float (&totals)[Terms::kSums][N]) {
  constexpr int kInFlight = kRowsInFlight<Terms>;
  using Loaded = decltype(terms.template load<N>(row, col));
  for (; row < end; row += kInFlight * step) {
    Loaded loaded[kInFlight];
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) {
      const std::int64_t from = row + k * step < end ? row + k * step : row;
      loaded[k] = terms.template load<N>(from, col);
    }
#pragma unroll
    for (int k = 0; k < kInFlight; ++k)
      if (row + k * step < end) terms.template add<N>(loaded[k], totals);  // a break would part the loads
  }
}

/// The teams' sums are added in team order, one team between two barriers, sum after sum. Rows wider than a team's
/// threads hold are done in parts, each a walk down all rows.
template <int N, class Terms>
__global__ void __launch_bounds__(1024) column_sums_kernel(ColumnSums<Terms> t) {
  auto* const shared = reinterpret_cast<float*>(dynamic_shared_memory());  // [team threads, N]
  const unsigned team_threads = t.team_warps * kWarpThreads;
  const Member member(team_threads);
  const std::int64_t teams = blockDim.x / team_threads;
  const std::int64_t share = (t.rows + gridDim.x - 1) / gridDim.x;
  const std::int64_t begin = blockIdx.x * share, end = begin + share < t.rows ? begin + share : t.rows;
  for (std::int64_t first = 0; first < t.cols; first += std::int64_t{team_threads} * N) {
    const std::int64_t col = first + std::int64_t{member.thread} * N;
    float totals[Terms::kSums][N] = {};
    if (col < t.cols) add_rows<N>(t.terms, begin + member.team, end, teams, col, totals);
    for (int s = 0; s < Terms::kSums; ++s) {
      for (unsigned team = 0; team < teams; ++team) {
        if (member.team == team) {
          float* const sum = shared + member.thread;  // element i lies i * team_threads further: no bank twice
          for (int i = 0; i < N; ++i) sum[i * team_threads] = (team == 0 ? 0.0F : sum[i * team_threads]) + totals[s][i];
        }
        __syncthreads();
      }
      float* const partials = t.partials + (std::int64_t{s} * gridDim.x + blockIdx.x) * t.cols;
      if (member.team == 0 && col < t.cols)
        for (int i = 0; i < N; ++i) partials[col + i] = shared[member.thread + i * team_threads];
      __syncthreads();  // the sums are read before the next are written
    }
  }
}

/// out += the blocks' sums. The warps' 32 sums of a column are added in warp order, and once to out.
template <class T>
__global__ void __launch_bounds__(1024)
    add_partials_kernel(const float* partials, unsigned num_partials, std::int64_t cols, T* out) {
  __shared__ float sums[kMaxWarps][kWarpThreads];
  const unsigned lane = threadIdx.x % kWarpThreads, warp = threadIdx.x / kWarpThreads;
  for (std::int64_t first = std::int64_t{blockIdx.x} * kWarpThreads; first < cols;
       first += std::int64_t{gridDim.x} * kWarpThreads) {
    const std::int64_t col = first + lane;
    float sum = 0;
    if (col < cols)
      for (unsigned i = warp; i < num_partials; i += kMaxWarps) sum += partials[i * cols + col];
    sums[warp][lane] = sum;
    __syncthreads();
    if (warp == 0 && col < cols) {
      for (unsigned w = 1; w < kMaxWarps; ++w) sum += sums[w][lane];
      out[col] = narrowed<T>(static_cast<float>(out[col]) + sum);
    }
    __syncthreads();
  }
}

/// Adds the sums to `out`, [1, cols] f32 or bf16 each, with no more blocks than `sms`. `is_grouped`: whether 8 columns
/// can be loaded at a time.
template <class Terms>
void launch_column_sums(const Terms& terms, std::int64_t rows, std::int64_t cols, bool is_grouped,
                        const std::array<BoundView, Terms::kSums>& out, std::int64_t sms, LaunchContext& context) {
  const int group = is_grouped ? 8 : 1;
  const Teams teams(cols, group, 1);
  LaunchShape shape = teams.shape(rows, sms);
  shape.shared_bytes = sizeof(float) * teams.warps * kWarpThreads * static_cast<unsigned>(group);
  const std::int64_t of_one = shape.blocks * cols;
  auto* const partials = reinterpret_cast<float*>(
      context.workspace->take(Terms::kSums * of_one * static_cast<std::int64_t>(sizeof(float))));
  const ColumnSums<Terms> t{
      .terms = terms, .rows = rows, .cols = cols, .partials = partials, .team_warps = teams.warps};
  launch(group == 1 ? column_sums_kernel<1, Terms> : column_sums_kernel<8, Terms>, shape, context.stream, t);
  const LaunchShape columns{.blocks = persistent_blocks((cols + kWarpThreads - 1) / kWarpThreads, sms),
                            .threads = kMaxWarps * kWarpThreads};
  for (std::size_t s = 0; s < out.size(); ++s) {
    const float* const of = partials + static_cast<std::int64_t>(s) * of_one;
    if (out[s].dtype == DataType::f32)
      launch(add_partials_kernel<float>, columns, context.stream, of, shape.blocks, cols, out[s].template as<float>());
    else
      launch(add_partials_kernel<bf16>, columns, context.stream, of, shape.blocks, cols, out[s].template as<bf16>());
  }
}

}  // namespace underlap::cuda
