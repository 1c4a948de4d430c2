// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/wait.h>

#include <cstdlib>

#include "impl/device/cuda/store_control_plane.hpp"
#include "tests/impl/device/cuda/folder_rank_store.hpp"
#include "tests/impl/device/device_testing.hpp"
#include "tests/testing.hpp"

namespace underlap::cuda {

/// Ranks as processes that meet in a folder of their own.
class FolderOfRanks : public ::testing::Test {
 protected:
  FolderOfRanks() {
    std::string pattern = (std::filesystem::temp_directory_path() / "underlap-control.XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~FolderOfRanks() override { std::filesystem::remove_all(folder_); }

  // Runs `work(control, rank)` as a process of its own each; how many of them returned true.
  int run(std::int32_t ranks, std::chrono::milliseconds timeout, auto work) {
    std::vector<pid_t> children;
    for (std::int32_t rank = 0; rank < ranks; ++rank) {
      const pid_t child = fork();
      if (child == 0) {
        FolderRankStore store(folder_);
        StoreControlPlane control(store, timeout);
        _exit(work(control, rank) ? 0 : 1);
      }
      children.push_back(child);
    }
    int well = 0;
    for (const pid_t child : children) {
      int status = 0;
      waitpid(child, &status, 0);
      well += WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 1 : 0;
    }
    return well;
  }

  std::filesystem::path folder_;
};

}  // namespace underlap::cuda
