// SPDX-License-Identifier: Apache-2.0
#pragma once

// Sums down the columns of a matrix, added to a gradient. A functor gives the terms of each element.
//
// The matrix is cut into strips of columns, a warp wide, and each strip into parts of its rows. A block takes pieces:
//
//   a piece     | warp w adds rows w, w + 32, ... of the part | its warps in order | a partial sum of each column
//   sums then   | a thread adds the parts of a column in order | +=
//
// A thread keeps 8 columns, and there is no sum over a row. Bound by memory: a part has 64 rows or more, so that its
// partial sums are few bytes. The order is fixed, so bits are the same in every run, but they change with the number of
// parts: where a GPU has more multiprocessors, or the margin is another.
#include <algorithm>
#include <array>

#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/teams.cuh"

namespace underlap::cuda {

/// Whether `cols` elements of each row are whole groups of 16 bytes at whole multiples of 16 bytes.
template <class... T>
bool are_grouped(const Rows<T>&... matrices) {
  return group_for(8, matrices...) == 8 && ((matrices.cols % 8 == 0) && ...);
}

/// How a matrix is cut.
struct Pieces {
  std::int64_t strips = 1;  ///< of columns
  std::int64_t parts = 1;   ///< of rows

  /// The cut that keeps most of `sms` blocks busy: up to four pieces a block, with at least 64 rows each.
  Pieces(std::int64_t rows, std::int64_t cols, std::int64_t strip_cols, std::int64_t sms)
      : strips((cols + strip_cols - 1) / strip_cols) {
    constexpr std::int64_t kMostRounds = 4, kLeastRows = 64;
    double most_busy = 0;
    for (std::int64_t rounds = 1; rounds <= kMostRounds; ++rounds) {
      const std::int64_t cut =
          std::clamp<std::int64_t>(rounds * sms / strips, 1, std::max<std::int64_t>(1, rows / kLeastRows));
      const std::int64_t taken = (strips * cut + sms - 1) / sms;
      const double busy = static_cast<double>(strips * cut) / static_cast<double>(taken * sms);
      if (busy <= most_busy) continue;
      most_busy = busy;
      parts = cut;
    }
  }
};

/// Terms of kSums sums, as a functor: `load<N>(row, col)` loads what N neighboring columns need of a row, and
/// `add(loaded, totals)` adds their terms to totals[kSums][N].
template <class Terms>
struct ColumnSums {
  Terms terms;
  std::int64_t rows = 0, cols = 0;
  Pieces pieces;
  float* partials = nullptr;  ///< [kSums, parts, cols], in the workspace
};

/// Rows that a thread loads before it adds the first. For one sum these are 6 loads of 16 bytes where a row takes two:
/// as many as fit in 64 registers together with 8 sums.
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

/// Blocks of 32 warps.
template <int N, class Terms>
__global__ void __launch_bounds__(1024) column_sums_kernel(ColumnSums<Terms> t) {
  constexpr int kCols = kWarpThreads * N;                    // of a strip
  constexpr int kPitch = kWarpThreads + 4;                   // between a lane's columns: no bank twice
  constexpr int kGroups = kMaxWarps * kWarpThreads / kCols;  // of warps, which are added at the same time
  __shared__ float of_warps[kMaxWarps][N * kPitch];
  __shared__ float of_groups[kGroups][kCols];
  const int lane = static_cast<int>(threadIdx.x % kWarpThreads), warp = static_cast<int>(threadIdx.x / kWarpThreads);
  const int own = static_cast<int>(threadIdx.x) % kCols, group = static_cast<int>(threadIdx.x) / kCols;
  const std::int64_t share = (t.rows + t.pieces.parts - 1) / t.pieces.parts;
  for (std::int64_t piece = blockIdx.x; piece < t.pieces.strips * t.pieces.parts; piece += gridDim.x) {
    const std::int64_t part = divided(piece, t.pieces.strips);
    const std::int64_t first_col = (piece - part * t.pieces.strips) * kCols, col = first_col + lane * N;
    const std::int64_t begin = part * share, end = begin + share < t.rows ? begin + share : t.rows;
    float totals[Terms::kSums][N] = {};
    if (col < t.cols) add_rows<N>(t.terms, begin + warp, end, kMaxWarps, col, totals);
    for (int s = 0; s < Terms::kSums; ++s) {
      for (int i = 0; i < N; ++i) of_warps[warp][i * kPitch + lane] = totals[s][i];
      __syncthreads();
      float sum = 0;
#pragma unroll
      for (int w = 0; w < static_cast<int>(kMaxWarps) / kGroups; ++w)
        sum += of_warps[group * (static_cast<int>(kMaxWarps) / kGroups) + w][own % N * kPitch + own / N];
      of_groups[group][own] = sum;
      __syncthreads();
      if (group == 0 && first_col + own < t.cols) {
        for (int g = 1; g < kGroups; ++g) sum += of_groups[g][own];
        t.partials[(std::int64_t{s} * t.pieces.parts + part) * t.cols + first_col + own] = sum;
      }
    }
  }
}

/// out += the sums of the parts.
template <class T>
__global__ void add_partials_kernel(const float* partials, std::int64_t parts, std::int64_t cols, T* out) {
  const std::int64_t col = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (col >= cols) return;
  float sum = 0;
#pragma unroll 8
  for (std::int64_t part = 0; part < parts; ++part) sum += partials[part * cols + col];
  out[col] = narrowed<T>(static_cast<float>(out[col]) + sum);
}

/// Adds the sums to `out`, [1, cols] f32 or bf16 each, with no more blocks than `sms`. `is_grouped`: whether 8 columns
/// can be loaded at a time.
template <class Terms>
void launch_column_sums(const Terms& terms, std::int64_t rows, std::int64_t cols, bool is_grouped,
                        const std::array<BoundView, Terms::kSums>& out, std::int64_t sms, LaunchContext& context) {
  const int group = is_grouped ? 8 : 1;
  const Pieces pieces(rows, cols, std::int64_t{kWarpThreads} * group, sms);
  const std::int64_t of_one = pieces.parts * cols;
  auto* const partials = reinterpret_cast<float*>(
      context.workspace->take(Terms::kSums * of_one * static_cast<std::int64_t>(sizeof(float))));
  const ColumnSums<Terms> t{.terms = terms, .rows = rows, .cols = cols, .pieces = pieces, .partials = partials};
  launch(group == 1 ? column_sums_kernel<1, Terms> : column_sums_kernel<8, Terms>,
         {.blocks = persistent_blocks(pieces.strips * pieces.parts, sms), .threads = kMaxWarps * kWarpThreads},
         context.stream, t);
  const LaunchShape columns{.blocks = blocks_for(cols, kGroupThreads), .threads = kGroupThreads};
  for (std::size_t s = 0; s < out.size(); ++s) {
    const float* const of = partials + static_cast<std::int64_t>(s) * of_one;
    with_float_type(out[s].dtype, [&]<class T>(T*) {
      launch(add_partials_kernel<T>, columns, context.stream, of, pieces.parts, cols, out[s].template as<T>());
    });
  }
}

}  // namespace underlap::cuda
