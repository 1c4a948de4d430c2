// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "bench/ranks/rank_runner.hpp"
#include "bench/ranks/session.hpp"

namespace underlap::bench {

// The CUDA backend of this build. A build without it has these as well: they say how to get one.

/// Whether this build has one.
bool has_cuda_backend();

/// Compares the caller's environment with the plan's, and the driver and the number of GPUs with what the cells need.
/// Throws std::invalid_argument where this build has no CUDA backend, where the environment is set to something else,
/// and where fewer GPUs are there than the layout needs, of which `most_ranks` are here; MachineError where the machine
/// cannot run CUDA at all.
void check_cuda_backend(std::span<const plan::Cell> cells, std::int32_t most_ranks = kAllRanks);

/// Memory of this machine's first GPU; 0 where it has none, or this build has no CUDA backend.
std::int64_t gpu_bytes();

/// See make_session(). Throws as check_cuda_backend() does, before any rank starts.
std::unique_ptr<Session> make_cuda_session(std::span<const plan::Cell> cells, std::int32_t first_step,
                                           const SessionOptions& options);

/// The rank of this process, which owns the GPU of its number among the ranks of its machine; where its launcher left
/// it one GPU alone, that. Throws as make_cuda_session() does.
std::unique_ptr<RankRunner> make_cuda_rank(const RankContext& context);

}  // namespace underlap::bench
