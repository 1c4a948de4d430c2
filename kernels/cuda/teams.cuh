// SPDX-License-Identifier: Apache-2.0
#pragma once

// Persistent blocks, each cut into teams of warps that take a row of a matrix at a time.
#include <algorithm>

#include "kernels/cuda/reduce.cuh"

namespace underlap::cuda {

/// One block for each round of work, at least 1 and at most `sms`.
inline unsigned persistent_blocks(std::int64_t rounds, std::int64_t sms) {
  return static_cast<unsigned>(std::clamp<std::int64_t>(rounds, 1, sms));
}

/// How a block's threads share rows of `cols` elements, in groups of N, kHeld of them a thread. A row has as few warps
/// as can hold it, and a block has as many rows as fit in 32 warps.
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
  /// Of a kernel that takes `rows` rows, on no more blocks than `sms`.
  LaunchShape shape(std::int64_t rows, std::int64_t sms) const {
    return {.blocks = persistent_blocks((rows + teams - 1) / teams, sms), .threads = threads()};
  }
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

/// The sum over a team's threads, returned to each of them. All threads of the block call it, including those of a team
/// without a row. `slots` holds kMaxWarps values for this round and kMaxWarps for the next, so that one barrier a round
/// is enough. A slot is written again two rounds later, after a barrier that all its readers have passed.
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

}  // namespace underlap::cuda
