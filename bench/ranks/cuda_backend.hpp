// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "bench/ranks/rank_runner.hpp"
#include "bench/ranks/session.hpp"

namespace underlap::bench {

// The CUDA backend of this build. In a build without it, these functions exist too and explain how to get one.

/// Whether this build has the CUDA backend.
bool has_cuda_backend();

/// Compares the caller's environment with the plan's, and the driver and the number of GPUs with what the cells need.
/// Throws std::invalid_argument if this build has no CUDA backend, if the environment has other values, and if there
/// are fewer GPUs than the layout needs; at most `most_ranks` of its ranks run here. Throws MachineError if the machine
/// cannot run CUDA at all.
void check_cuda_backend(std::span<const plan::Cell> cells, std::int32_t most_ranks = kAllRanks);

/// Memory of this machine's first GPU; 0 if it has none, or if this build has no CUDA backend.
std::int64_t gpu_bytes();

/// See make_session(). Throws as check_cuda_backend() does, before any rank starts.
std::unique_ptr<Session> make_cuda_session(std::span<const plan::Cell> cells, std::int32_t first_step,
                                           const SessionOptions& options);

/// The rank of this process. It uses the GPU whose number is its local rank, or the only GPU that its launcher left it.
/// Throws as make_cuda_session() does.
std::unique_ptr<RankRunner> make_cuda_rank(const RankContext& context);

}  // namespace underlap::bench
