// SPDX-License-Identifier: Apache-2.0
#include "impl/device/cuda/peer_copies/host_mailbox.hpp"

#include "platform/errors.hpp"
#include "tests/impl/device/cuda/folder_of_ranks.hpp"

namespace underlap::cuda {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kMany = 2000;  // several times what a lane holds

HostMailbox::Waiting within(std::chrono::milliseconds timeout) {
  return {timeout, [] {}};
}

Landing number(std::int32_t sender, std::uint64_t i) {
  return {.block = static_cast<std::uint64_t>(sender), .offset = 16 * i, .bytes = i};
}

// The receivers are far ahead of the senders: they wait until there is room.
void receive_all(HostMailbox& mailbox, const Group& group) {
  for (std::uint64_t i = 0; i < kMany; ++i)
    for (std::int32_t peer = 0; peer < group.size(); ++peer)
      if (peer != group.my_index) mailbox.post(peer, number(peer, i), i);
}

bool send_all(HostMailbox& mailbox, const Group& group, std::int32_t receiver) {
  bool all_right = true;
  for (std::uint64_t i = 0; i < kMany; ++i) {
    const Landing landing = mailbox.take(receiver, i);
    all_right = all_right && landing.block == static_cast<std::uint64_t>(group.my_index) && landing.offset == 16 * i &&
                landing.bytes == i;
  }
  return all_right;
}

class MailboxOfProcesses : public FolderOfRanks {};

TEST_F(MailboxOfProcesses, CarriesEveryLandingInItsOrder) {
  const auto work = [](ControlPlane& control, std::int32_t rank) {
    HostMailbox mailbox(control, "ring", testing_support::group_of(3, rank), within(20s));
    bool all_right = true;
    if (rank == 0)
      receive_all(mailbox, testing_support::group_of(3, rank));
    else
      all_right = send_all(mailbox, testing_support::group_of(3, rank), 0);
    mailbox.leave();
    mailbox.wait_until_all_left();
    return all_right;
  };
  EXPECT_EQ(run(3, 20s, work), 3);
}

TEST_F(MailboxOfProcesses, LeavesNoNameBehind) {
  const auto work = [](ControlPlane& control, std::int32_t rank) {
    const HostMailbox mailbox(control, "ring", testing_support::group_of(2, rank), within(20s));
    const std::string own = "underlap." + std::to_string(getpid()) + ".";
    for (int look = 0; look < 1000; ++look) {
      const auto names = std::filesystem::directory_iterator("/dev/shm");
      if (std::none_of(begin(names), end(names), [&](const std::filesystem::directory_entry& entry) {
            return entry.path().filename().string().starts_with(own);
          }))
        return true;
      std::this_thread::sleep_for(1ms);
    }
    return false;
  };
  EXPECT_EQ(run(2, 20s, work), 2);
}

TEST_F(MailboxOfProcesses, NamesTheRankWhoseHostIsLate) {
  const auto work = [](ControlPlane& control, std::int32_t rank) {
    HostMailbox mailbox(control, "tp_ring", Group{{4, 7}, rank}, within(200ms));
    if (rank == 1) return true;
    return testing::Matches(
        AllOf(HasSubstr("rank 4: send of communicator tp_ring (ranks 4, 7), sequence 12, waited 200 ms"),
              HasSubstr("the host of rank 7")))(thrown_by<MachineError>([&] { (void)mailbox.take(1, 12); }));
  };
  EXPECT_EQ(run(2, 20s, work), 2);
}

TEST_F(MailboxOfProcesses, StopsWaitingWhereARankHasFailed) {
  const auto work = [this](ControlPlane& control, std::int32_t rank) {
    FolderRankStore store(folder_);
    HostMailbox mailbox(control, "ring", testing_support::group_of(2, rank), {20s, [&] {
                                                                                if (const auto why = store.failure())
                                                                                  throw MachineError(*why);
                                                                              }});
    if (rank == 1) {
      control.fail(1, "its cable is gone");
      return true;
    }
    return testing::Matches(HasSubstr("rank 1: its cable is gone"))(
        thrown_by<MachineError>([&] { (void)mailbox.take(1, 0); }));
  };
  EXPECT_EQ(run(2, 20s, work), 2);
}

}  // namespace
}  // namespace underlap::cuda
