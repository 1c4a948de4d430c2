// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace underlap::gpu {

/// One rank of a training on a GPU that all its ranks share: a process of its own.
struct RankOrder {
  std::int32_t rank = 0;
  std::int32_t world_size = 1;
  bool overlap = false;
  std::filesystem::path folder;  ///< where the ranks meet, and where losses.<rank> is written
};

inline constexpr std::int32_t kTrainedSteps = 8;

/// The order that the command line holds: --rank R WORLD OVERLAP FOLDER.
std::optional<RankOrder> rank_order(int argc, char** argv);

/// Trains and writes the losses. Returns the exit status.
int run_rank(const RankOrder& order);

/// The folder of --record FOLDER: where a process of its own, which has made no call to CUDA yet, keeps CUPTI's
/// buffers.
std::optional<std::filesystem::path> recording_order(int argc, char** argv);

/// Captures a few overlapped steps over an emulated link and writes training.cupti. Returns the exit status: 3 where a
/// record was lost, a kernel belongs to no operation, or a mark has no kernel; it prints which.
int record_training(const std::filesystem::path& folder);

}  // namespace underlap::gpu
