// SPDX-License-Identifier: Apache-2.0
#include "impl/device/cuda/store_control_plane.hpp"

#include "platform/errors.hpp"
#include "tests/impl/device/cuda/folder_of_ranks.hpp"

namespace underlap::cuda {
namespace {

TEST_F(FolderOfRanks, GivesEveryProcessWhatTheFirstMemberSays) {
  EXPECT_EQ(run(4, std::chrono::seconds(20),
                [](ControlPlane& control, std::int32_t rank) {
                  for (std::byte round{0}; round < std::byte{20}; round = std::byte(std::to_integer<int>(round) + 1)) {
                    std::array<std::byte, 3> bytes{};
                    if (rank == 0) bytes = {round, std::byte{7}, round};
                    control.broadcast("an id", testing_support::group_of(4, rank), bytes);
                    if (bytes != std::array{round, std::byte{7}, round}) return false;
                  }
                  return true;
                }),
            4);
}

TEST_F(FolderOfRanks, NamesTheRankThatDoesNotCome) {
  FolderRankStore store(folder_);
  StoreControlPlane control(store, std::chrono::milliseconds(50));
  std::array<std::byte, 1> bytes{};
  EXPECT_THAT([&] { control.broadcast("communicator dp", testing_support::group_of(3, 1), bytes); },
              ThrowsMessage<MachineError>(HasSubstr("rank 1: communicator dp waited 50 ms for rank 0, 2")));
}

TEST_F(FolderOfRanks, TellsOfTheFirstFailureAndKeepsIt) {
  FolderRankStore store(folder_);
  StoreControlPlane control(store, std::chrono::milliseconds(50));
  EXPECT_EQ(control.failure(), std::nullopt);
  control.fail(2, "out of memory");
  control.fail(2, "what followed from it");
  EXPECT_EQ(control.failure(), "rank 2: out of memory");
  EXPECT_EQ(store.failure(), "rank 2: out of memory");
  std::array<std::byte, 1> bytes{};
  EXPECT_THAT([&] { control.broadcast("an id", testing_support::group_of(1, 0), bytes); },
              ThrowsMessage<MachineError>("rank 2: out of memory"));
}

TEST_F(FolderOfRanks, TellsGroupsApart) {
  FolderRankStore store(folder_);
  StoreControlPlane control(store, std::chrono::milliseconds(50));
  std::array<std::byte, 1> first{std::byte{1}};
  control.broadcast("alone", testing_support::group_of(1, 0), first);
  Group other{{5}, 0};
  std::array<std::byte, 1> second{std::byte{2}};
  control.broadcast("alone too", other, second);
  EXPECT_EQ(second[0], std::byte{2});
}

}  // namespace
}  // namespace underlap::cuda
