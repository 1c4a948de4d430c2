// SPDX-License-Identifier: Apache-2.0
#include "impl/device/cuda/folder_control_plane.hpp"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <numeric>

#include "platform/errors.hpp"

namespace underlap::cuda {
namespace {

using ::testing::HasSubstr;

class FolderOfRanks : public ::testing::Test {
 protected:
  FolderOfRanks() {
    std::string pattern = (std::filesystem::temp_directory_path() / "underlap-control.XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~FolderOfRanks() override { std::filesystem::remove_all(folder_); }

  static Group group(std::int32_t size, std::int32_t index) {
    Group all{std::vector<std::int32_t>(static_cast<std::size_t>(size)), index};
    std::iota(all.members.begin(), all.members.end(), 0);
    return all;
  }

  // Runs `work(control, rank)` as a process of its own each; how many of them returned true.
  int run(std::int32_t ranks, std::chrono::milliseconds timeout, auto work) {
    std::vector<pid_t> children;
    for (std::int32_t rank = 0; rank < ranks; ++rank) {
      const pid_t child = fork();
      if (child == 0) {
        FolderControlPlane control(folder_, timeout);
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

TEST_F(FolderOfRanks, GivesEveryProcessWhatTheFirstMemberSays) {
  EXPECT_EQ(run(4, std::chrono::seconds(20),
                [](ControlPlane& control, std::int32_t rank) {
                  for (std::byte round{0}; round < std::byte{20}; round = std::byte(std::to_integer<int>(round) + 1)) {
                    std::array<std::byte, 3> bytes{};
                    if (rank == 0) bytes = {round, std::byte{7}, round};
                    control.broadcast("an id", group(4, rank), bytes);
                    if (bytes != std::array{round, std::byte{7}, round}) return false;
                  }
                  return true;
                }),
            4);
}

TEST_F(FolderOfRanks, NamesTheRankThatDoesNotCome) {
  FolderControlPlane control(folder_, std::chrono::milliseconds(50));
  std::array<std::byte, 1> bytes{};
  try {
    control.broadcast("communicator dp", group(3, 1), bytes);
    FAIL();
  } catch (const MachineError& error) {
    EXPECT_THAT(error.what(), HasSubstr("rank 1: communicator dp waited 50 ms for rank 0, 2"));
  }
}

TEST_F(FolderOfRanks, WakesTheOthersWhenOneFailsAndKeepsTheFirstFailure) {
  EXPECT_EQ(run(3, std::chrono::seconds(60),
                [](ControlPlane& control, std::int32_t rank) {
                  if (rank == 2) {
                    control.fail(2, "out of memory");
                    return true;
                  }
                  std::array<std::byte, 1> bytes{};
                  try {
                    control.broadcast("an id", group(3, rank), bytes);
                  } catch (const MachineError& error) {
                    return std::string(error.what()) == "rank 2: out of memory";
                  }
                  return false;
                }),
            3);
  FolderControlPlane control(folder_, std::chrono::milliseconds(50));
  control.fail(0, "what followed from it");
  EXPECT_EQ(control.failure(), "rank 2: out of memory");
}

TEST_F(FolderOfRanks, TellsGroupsApart) {
  FolderControlPlane control(folder_, std::chrono::milliseconds(50));
  std::array<std::byte, 1> first{std::byte{1}};
  control.broadcast("alone", group(1, 0), first);
  Group other{{5}, 0};
  std::array<std::byte, 1> second{std::byte{2}};
  control.broadcast("alone too", other, second);
  EXPECT_EQ(second[0], std::byte{2});
}

}  // namespace
}  // namespace underlap::cuda
