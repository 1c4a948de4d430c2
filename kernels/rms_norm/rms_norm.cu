// SPDX-License-Identifier: Apache-2.0
//
// RMSNorm: forward, gradient of the input (dgrad), gradient of the weight (wgrad).
//
//             bytes an element of x                      flops
//   forward   x 2 read, out 2 written                    4
//   dgrad     x, dout, residual 6 read, dx 2 written     8
//   wgrad     x, dout 4 read                             3      and 4 H bytes a block, written and read again
//
// Bound by memory, if each row is read once. But no element of a row can be written before the sum over the row is
// known, so the row waits in registers, and the next one is loaded meanwhile:
//
//   a team   | load row i + 1 into registers .................................................... |
//            | add up row i | add lanes, then warps (a barrier) | scale row i, round, store        |
//
// Persistent blocks, one a multiprocessor, of up to 1024 threads. A block is cut into teams of warps, a row each: with
// H 4096 forward takes 8 warps to hold a row, so a block has 4 teams. Block b of B, team j has row (i B + b) 4 + j in
// round i. All teams of a block take the same number of rounds, so that its barriers serve every team.
// LaunchContext::norm_sm_margin multiprocessors stay free for communication kernels that run beside: as Transformer
// Engine's sm_margin does.
//
// Rows that no team can hold (over 16384 elements in forward, 8192 in dgrad), and rows that are no whole groups of 16
// bytes, go to the kernels with `any` in their name, which read a row twice.
//
// wgrad has no sum over a row. A thread keeps 8 columns and adds up rows; the sums of teams, and then of blocks, are
// added in a fixed order. So its bits are the same at every run, but they change with the number of blocks: where a GPU
// has more multiprocessors, or the margin is another.
#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/reduce.cuh"
#include "kernels/rms_norm/rms_norm_parameters.hpp"

namespace underlap::cuda {
namespace {

using kernels::RmsNormParameters;

/// A block for each round of work, and no more than the multiprocessors that the margin leaves.
unsigned persistent_blocks(std::int64_t rounds, const LaunchContext& context) {
  const std::int64_t sms = std::max(1, context.num_sms - context.norm_sm_margin);
  return static_cast<unsigned>(std::clamp<std::int64_t>(rounds, 1, sms));
}

/// How a block's threads share rows of `cols` elements, in groups of N, kHeld of them a thread: as few warps a row as
/// hold it, and as many rows as 32 warps can have.
struct Teams {
  unsigned warps = 1;  ///< a team
  unsigned teams = 1;  ///< a block

  Teams(std::int64_t cols, int group, int held) {
    const std::int64_t in_row = (cols + group - 1) / group;
    const std::int64_t per_warp = std::int64_t{kWarpThreads} * held;
    warps = static_cast<unsigned>(std::min<std::int64_t>((in_row + per_warp - 1) / per_warp, kMaxWarps));
    teams = kMaxWarps / warps;
  }
  unsigned threads() const { return warps * teams * kWarpThreads; }
  bool holds(std::int64_t cols, int group, int held) const {
    return cols <= std::int64_t{warps} * kWarpThreads * group * held;
  }
};

/// This thread's place in its team.
struct Member {
  unsigned team, thread;

  __device__ explicit Member(unsigned team_threads)
      : team(threadIdx.x / team_threads), thread(threadIdx.x % team_threads) {}
};

/// The sum over a team's threads, on each of them. All threads of the block call it, those of a team without a row too.
/// `slots` holds kMaxWarps values for this round and as many for the next, so that one barrier a round is enough: who
/// writes to a slot again, two rounds on, has passed the barrier between, and so has everybody who read it.
__device__ inline float sum_team(float value, unsigned team_warps, unsigned round, float* slots) {
  value = combine_warp(value, Plus());
  if (team_warps == 1) return value;
  float* const of_round = slots + round % 2 * kMaxWarps;
  const unsigned lane = threadIdx.x % kWarpThreads, warp = threadIdx.x / kWarpThreads;
  if (lane == 0) of_round[warp] = value;
  __syncthreads();
  const unsigned first = warp / team_warps * team_warps;
  return combine_warp(lane < team_warps ? of_round[first + lane] : 0.0F, Plus());
}

/// Element i of 16 bytes of bf16.
__device__ inline float element_of(uint4 quad, int i) {
  return static_cast<float>(std::bit_cast<Group<bf16, 8>>(quad).element[i]);
}

/// A row's groups that a thread holds, kHeld of N elements; those past the row's end are zero, which adds nothing. As
/// they were loaded: what looks at single elements would wait for them. Neighbouring threads hold neighbouring groups,
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

struct Forward {
  Rows<const bf16> x;
  const bf16* weight;
  Rows<bf16> out;
  float* rstd;
  float epsilon;
  unsigned team_warps;
};

__device__ inline float reciprocal_root(float sum_of_squares, std::int64_t cols, float epsilon) {
  return 1.0F / sqrtf(sum_of_squares / static_cast<float>(cols) + epsilon);
}

/// Rows that fit into a team's registers. 1024 threads have 64 registers each, of which weight, this row and the next
/// take 24 with kHeld 2.
template <int N, int kHeld>
__global__ void __launch_bounds__(1024) rms_norm_forward_kernel(Forward t) {
  __shared__ float slots[2 * kMaxWarps];
  const unsigned team_threads = t.team_warps * kWarpThreads;
  const Member member(team_threads);
  const std::int64_t cols = t.x.cols, teams = blockDim.x / team_threads;
  Held<N, kHeld> weight, next;
  weight.take(t.weight, cols, member, team_threads);
  std::int64_t row = blockIdx.x * teams + member.team;
  if (row < t.x.rows) next.take(t.x.at(row, 0), cols, member, team_threads);
  // first is the row of the block's first team, so that all teams leave the loop together.
  unsigned round = 0;
  for (std::int64_t first = blockIdx.x * teams; first < t.x.rows; first += gridDim.x * teams, ++round) {
    const Held<N, kHeld> x = next;  // whose loads were issued a round ago
    const bool has_row = row < t.x.rows;
    const std::int64_t next_row = row + gridDim.x * teams;
    if (next_row < t.x.rows) next.take(t.x.at(next_row, 0), cols, member, team_threads);
    float sum = 0;
    for (int k = 0; k < kHeld; ++k)
      for (int i = 0; i < N; ++i) sum += x.at(k, i) * x.at(k, i);
    const float rstd = reciprocal_root(sum_team(sum, t.team_warps, round, slots), cols, t.epsilon);
    if (has_row) {
      if (member.thread == 0) t.rstd[row] = rstd;
      for_each_held<N, kHeld>(cols, member, team_threads, [&](int k, std::int64_t col) {
        Group<bf16, N> result;
        for (int i = 0; i < N; ++i) result.element[i] = narrowed<bf16>(x.at(k, i) * rstd * weight.at(k, i));
        store(t.out.at(row, col), result);
      });
    }
    row = next_row;
  }
}

/// Rows of any width, in whole groups of N: a block a row, which is read twice, the second time from a cache.
template <int N>
__global__ void __launch_bounds__(1024) rms_norm_forward_any_kernel(Forward t) {
  __shared__ float slots[2 * kMaxWarps];
  const std::int64_t begin = std::int64_t{threadIdx.x} * N, step = std::int64_t{blockDim.x} * N;
  unsigned round = 0;
  for (std::int64_t row = blockIdx.x; row < t.x.rows; row += gridDim.x, ++round) {
    float sum = 0;
    for (std::int64_t c = begin; c < t.x.cols; c += step) {
      const auto x = load<N>(t.x.at(row, c));
      for (int i = 0; i < N; ++i) sum += static_cast<float>(x.element[i]) * static_cast<float>(x.element[i]);
    }
    const float rstd = reciprocal_root(sum_team(sum, t.team_warps, round, slots), t.x.cols, t.epsilon);
    if (threadIdx.x == 0) t.rstd[row] = rstd;
    for (std::int64_t c = begin; c < t.x.cols; c += step) {
      auto x = load<N>(t.x.at(row, c));
      const auto weight = load<N>(t.weight + c);
      for (int i = 0; i < N; ++i)
        x.element[i] = narrowed<bf16>(static_cast<float>(x.element[i]) * rstd * static_cast<float>(weight.element[i]));
      store(t.out.at(row, c), x);
    }
  }
}

/// Whether `cols` elements of each row are whole groups of 16 bytes at whole multiples of 16 bytes.
template <class... T>
bool are_grouped(const Rows<T>&... matrices) {
  return group_for(8, matrices...) == 8 && ((matrices.cols % 8 == 0) && ...);
}

/// Blocks for `rows` rows, `teams` at a time.
LaunchShape norm_shape(std::int64_t rows, const Teams& teams, const LaunchContext& context) {
  return {.blocks = persistent_blocks((rows + teams.teams - 1) / teams.teams, context), .threads = teams.threads()};
}

// The kernel that holds rows where teams can, else the one for rows of any width.
void forward_cuda(const Arguments& views, LaunchContext& context) {
  constexpr int kHeld = 2;
  const auto weight = rows_of<const bf16>(views[1]);
  Forward t{.x = rows_of<const bf16>(views[0]),
            .weight = weight.data,
            .out = rows_of<bf16>(views[2]),
            .rstd = views[3].as<float>(),
            .epsilon = static_cast<float>(views.parameters<RmsNormParameters>().epsilon),
            .team_warps = 1};
  const Teams teams(t.x.cols, 8, kHeld);
  const bool grouped = are_grouped(t.x, weight, t.out);
  if (grouped && teams.holds(t.x.cols, 8, kHeld)) {
    t.team_warps = teams.warps;
    return launch(rms_norm_forward_kernel<8, kHeld>, norm_shape(t.x.rows, teams, context), context.stream, t);
  }
  t.team_warps = Teams(t.x.cols, grouped ? 8 : 1, 1).warps;
  launch(grouped ? rms_norm_forward_any_kernel<8> : rms_norm_forward_any_kernel<1>,
         {.blocks = persistent_blocks(t.x.rows, context), .threads = t.team_warps * kWarpThreads}, context.stream, t);
}

struct Dgrad {
  Rows<const bf16> x;
  const bf16* weight;
  const float* rstd;
  Rows<const bf16> dout, residual;
  Rows<bf16> dx;
  unsigned team_warps;
};

/// What a thread holds of a row of dgrad's inputs.
template <int N, int kHeld>
struct DgradRow {
  Held<N, kHeld> x, dout, residual;
  float rstd;

  __device__ void take(const Dgrad& t, std::int64_t row, const Member& member, unsigned team_threads) {
    x.take(t.x.at(row, 0), t.x.cols, member, team_threads);
    dout.take(t.dout.at(row, 0), t.x.cols, member, team_threads);
    residual.take(t.residual.at(row, 0), t.x.cols, member, team_threads);
    rstd = t.rstd[row];
  }
};

/// scaled: dout * weight; normalized: x * rstd; mean: that of their product over the row.
__device__ inline bf16 dgrad_element(float residual, float rstd, float scaled, float normalized, float mean) {
  return narrowed<bf16>(residual + rstd * (scaled - normalized * mean));
}

/// As rms_norm_forward_kernel, with three tensors to hold: weight and two rows of each take 28 registers with kHeld 1.
/// The sum is that of (x * rstd) * (dout * weight), the part of the gradient along the row.
template <int N, int kHeld>
__global__ void __launch_bounds__(1024) rms_norm_dgrad_kernel(Dgrad t) {
  __shared__ float slots[2 * kMaxWarps];
  const unsigned team_threads = t.team_warps * kWarpThreads;
  const Member member(team_threads);
  const std::int64_t cols = t.x.cols, teams = blockDim.x / team_threads;
  Held<N, kHeld> weight;
  weight.take(t.weight, cols, member, team_threads);
  DgradRow<N, kHeld> next{};
  std::int64_t row = blockIdx.x * teams + member.team;
  if (row < t.x.rows) next.take(t, row, member, team_threads);
  unsigned round = 0;
  for (std::int64_t first = blockIdx.x * teams; first < t.x.rows; first += gridDim.x * teams, ++round) {
    const bool has_row = row < t.x.rows;
    const std::int64_t next_row = row + gridDim.x * teams;
    const DgradRow<N, kHeld> at = next;
    if (next_row < t.x.rows) next.take(t, next_row, member, team_threads);
    float sum = 0;
    for (int k = 0; k < kHeld; ++k)
      for (int i = 0; i < N; ++i) sum += at.x.at(k, i) * at.rstd * (at.dout.at(k, i) * weight.at(k, i));
    const float mean = sum_team(sum, t.team_warps, round, slots) / static_cast<float>(cols);
    if (has_row) {
      for_each_held<N, kHeld>(cols, member, team_threads, [&](int k, std::int64_t col) {
        Group<bf16, N> result;
        for (int i = 0; i < N; ++i)
          result.element[i] = dgrad_element(at.residual.at(k, i), at.rstd, at.dout.at(k, i) * weight.at(k, i),
                                            at.x.at(k, i) * at.rstd, mean);
        store(t.dx.at(row, col), result);
      });
    }
    row = next_row;
  }
}

/// As rms_norm_forward_any_kernel: x, dout and weight are read for the sum, and again beside residual for the result.
template <int N>
__global__ void __launch_bounds__(1024) rms_norm_dgrad_any_kernel(Dgrad t) {
  __shared__ float slots[2 * kMaxWarps];
  const std::int64_t begin = std::int64_t{threadIdx.x} * N, step = std::int64_t{blockDim.x} * N;
  unsigned round = 0;
  for (std::int64_t row = blockIdx.x; row < t.x.rows; row += gridDim.x, ++round) {
    const float rstd = t.rstd[row];
    // Calls f(i, normalized, scaled) for the elements of the group at c.
    const auto for_each_product = [&](std::int64_t c, auto f) {
      const auto x = load<N>(t.x.at(row, c)), dout = load<N>(t.dout.at(row, c)), weight = load<N>(t.weight + c);
      for (int i = 0; i < N; ++i)
        f(i, static_cast<float>(x.element[i]) * rstd,
          static_cast<float>(dout.element[i]) * static_cast<float>(weight.element[i]));
    };
    float sum = 0;
    for (std::int64_t c = begin; c < t.x.cols; c += step)
      for_each_product(c, [&](int, float normalized, float scaled) { sum += normalized * scaled; });
    const float mean = sum_team(sum, t.team_warps, round, slots) / static_cast<float>(t.x.cols);
    for (std::int64_t c = begin; c < t.x.cols; c += step) {
      auto group = load<N>(t.residual.at(row, c));
      for_each_product(c, [&](int i, float normalized, float scaled) {
        group.element[i] = dgrad_element(static_cast<float>(group.element[i]), rstd, scaled, normalized, mean);
      });
      store(t.dx.at(row, c), group);
    }
  }
}

void dgrad_cuda(const Arguments& views, LaunchContext& context) {
  constexpr int kHeld = 1;
  const auto weight = rows_of<const bf16>(views[1]);
  Dgrad t{.x = rows_of<const bf16>(views[0]),
          .weight = weight.data,
          .rstd = views[2].as<const float>(),
          .dout = rows_of<const bf16>(views[3]),
          .residual = rows_of<const bf16>(views[4]),
          .dx = rows_of<bf16>(views[5]),
          .team_warps = 1};
  const Teams teams(t.x.cols, 8, kHeld);
  const bool grouped = are_grouped(t.x, weight, t.dout, t.residual, t.dx);
  if (grouped && teams.holds(t.x.cols, 8, kHeld)) {
    t.team_warps = teams.warps;
    return launch(rms_norm_dgrad_kernel<8, kHeld>, norm_shape(t.x.rows, teams, context), context.stream, t);
  }
  t.team_warps = Teams(t.x.cols, grouped ? 8 : 1, 1).warps;
  launch(grouped ? rms_norm_dgrad_any_kernel<8> : rms_norm_dgrad_any_kernel<1>,
         {.blocks = persistent_blocks(t.x.rows, context), .threads = t.team_warps * kWarpThreads}, context.stream, t);
}

struct Wgrad {
  Rows<const bf16> x, dout;
  const float* rstd;
  float* partials;  ///< [blocks, H] fp32, in the workspace
  unsigned team_warps;
};

/// 6 loads of 16 bytes a thread: as much as fits beside 8 sums in 64 registers.
constexpr int kRowsInFlight = 3;

/// The sum over this block's rows, a contiguous share of all of them, of N columns from `col`: every `step`-th row from
/// `row` to `end`.
template <int N>
__device__ void add_products(const Wgrad& t, std::int64_t row, std::int64_t end, std::int64_t step, std::int64_t col,
                             float* total) {
  for (; row < end; row += kRowsInFlight * step) {
    Group<bf16, N> x[kRowsInFlight], dout[kRowsInFlight];
    float rstd[kRowsInFlight];
#pragma unroll
    for (int k = 0; k < kRowsInFlight; ++k) {
      const std::int64_t from = row + k * step < end ? row + k * step : row;
      x[k] = load<N>(t.x.at(from, col));
      dout[k] = load<N>(t.dout.at(from, col));
      rstd[k] = t.rstd[from];
    }
#pragma unroll
    for (int k = 0; k < kRowsInFlight; ++k)
      if (row + k * step < end)  // a break would put each load behind the sum before it
        for (int i = 0; i < N; ++i)
          total[i] += static_cast<float>(dout[k].element[i]) * (static_cast<float>(x[k].element[i]) * rstd[k]);
  }
}

/// Each block its rows, each team of it every so many of them; the teams' sums are added in team order, one team
/// between two barriers. Rows wider than a team's threads hold are done in parts, each a walk down all rows.
template <int N>
__global__ void __launch_bounds__(1024) rms_norm_wgrad_kernel(Wgrad t) {
  auto* const sums = reinterpret_cast<float*>(dynamic_shared_memory());  // [team threads, N]
  const unsigned team_threads = t.team_warps * kWarpThreads;
  const Member member(team_threads);
  const std::int64_t teams = blockDim.x / team_threads;
  const std::int64_t share = (t.x.rows + gridDim.x - 1) / gridDim.x;
  const std::int64_t begin = blockIdx.x * share, end = begin + share < t.x.rows ? begin + share : t.x.rows;
  for (std::int64_t first = 0; first < t.x.cols; first += std::int64_t{team_threads} * N) {
    const std::int64_t col = first + std::int64_t{member.thread} * N;
    float total[N] = {};
    if (col < t.x.cols) add_products<N>(t, begin + member.team, end, teams, col, total);
    for (unsigned team = 0; team < teams; ++team) {
      if (member.team == team) {
        float* const sum = sums + member.thread;  // element i of a thread lies i * team_threads further: no bank twice
        for (int i = 0; i < N; ++i) sum[i * team_threads] = (team == 0 ? 0.0F : sum[i * team_threads]) + total[i];
      }
      __syncthreads();
    }
    if (member.team == 0 && col < t.x.cols)
      for (int i = 0; i < N; ++i) t.partials[blockIdx.x * t.x.cols + col + i] = sums[member.thread + i * team_threads];
    __syncthreads();  // the sums are read before the next part's are written
  }
}

/// dweight += the blocks' sums: a warp's lanes take neighbouring columns, a block's warps every 32nd of the sums. The
/// warps' 32 sums of a column are then added in warp order, and once to dweight.
template <class T>
__global__ void __launch_bounds__(1024)
    add_partials_kernel(const float* partials, unsigned num_partials, std::int64_t cols, T* dweight) {
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
      dweight[col] = narrowed<T>(static_cast<float>(dweight[col]) + sum);
    }
    __syncthreads();
  }
}

void wgrad_cuda(const Arguments& views, LaunchContext& context) {
  Wgrad t{.x = rows_of<const bf16>(views[0]),
          .dout = rows_of<const bf16>(views[2]),
          .rstd = views[1].as<const float>(),
          .partials = nullptr,
          .team_warps = 1};
  const int group = are_grouped(t.x, t.dout) ? 8 : 1;
  const Teams teams(t.x.cols, group, 1);
  LaunchShape shape = norm_shape(t.x.rows, teams, context);
  shape.shared_bytes = sizeof(float) * teams.warps * kWarpThreads * static_cast<unsigned>(group);
  t.team_warps = teams.warps;
  t.partials = reinterpret_cast<float*>(context.workspace->take(shape.blocks * t.x.cols * sizeof(float)));
  launch(group == 1 ? rms_norm_wgrad_kernel<1> : rms_norm_wgrad_kernel<8>, shape, context.stream, t);
  const LaunchShape columns{.blocks = persistent_blocks((t.x.cols + kWarpThreads - 1) / kWarpThreads, context),
                            .threads = kMaxWarps * kWarpThreads};
  if (views[3].dtype == DataType::f32)
    return launch(add_partials_kernel<float>, columns, context.stream, t.partials, shape.blocks, t.x.cols,
                  views[3].as<float>());
  launch(add_partials_kernel<bf16>, columns, context.stream, t.partials, shape.blocks, t.x.cols, views[3].as<bf16>());
}

}  // namespace

std::span<const CudaImplementationInfo> list_cuda_rms_norm() {
  static constexpr std::array<CudaImplementationInfo, 3> all{{
      {"rms_norm_forward", forward_cuda},
      {"rms_norm_dgrad", dgrad_cuda},
      {"rms_norm_wgrad", wgrad_cuda},
  }};
  return all;
}

}  // namespace underlap::cuda
