// SPDX-License-Identifier: Apache-2.0
#include "impl/device/program_matching.hpp"

#include "impl/device/call_partners.hpp"
#include "impl/device/recording_device.hpp"
#include "tests/impl/device/device_testing.hpp"
#include "tests/testing.hpp"

namespace underlap {
namespace {

class CallingRank {
 public:
  CallingRank(std::int32_t rank, std::int32_t num_ranks) : rank_(rank), num_ranks_(num_ranks) {
    x_ = device_.allocate("x", DataType::f32, 64);
  }

  Communicator declare(const std::string& purpose) {
    return device_.declare(purpose, testing_support::group_of(num_ranks_, rank_));
  }
  Transfer send(std::int32_t peer) const { return testing_support::send_to(peer, flat(x_)); }
  Transfer receive(std::int32_t peer) const { return testing_support::receive_from(peer, flat(x_)); }
  Transfer all_reduce() const { return testing_support::all_reduce_of(x_); }
  CallingRank& call(const Communicator& communicator, const std::vector<Transfer>& transfers) {
    device_.communicate(communicator, {.kind = Kind::communication, .purpose = intern("exchange")}, transfers);
    return *this;
  }
  Program take() { return device_.take_program(); }

 private:
  RecordingDevice device_;
  Tensor x_;
  std::int32_t rank_, num_ranks_;
};

// "0.1 0.2": rank and command of each side; "0.-" for one that never comes.
std::string text_of(const Exchange& exchange) {
  std::string text;
  for (const Party& party : exchange.parties)
    text += (text.empty() ? "" : " ") + std::to_string(party.rank) + "." +
            (party.comes() ? std::to_string(party.command) : "-");
  return text;
}

std::vector<std::string> exchanges_of(std::span<const Program> programs) {
  std::vector<std::string> texts;
  for (const Exchange& exchange : match_transfers(programs).exchanges) texts.push_back(text_of(exchange));
  return texts;
}

TEST(ChannelNumbers, TellCommunicatorsApartByPurposeMembersAndDeclaration) {
  ChannelNumbers numbers;
  const auto of = [](const std::string& purpose, std::vector<std::int32_t> members) {
    return ProgramCommunicator{.purpose = purpose, .group = {std::move(members), 0}, .hints = {}};
  };
  const std::vector<ProgramCommunicator> first{of("dp", {0, 1}), of("dp", {0, 1}), of("pp", {0, 1}), of("dp", {0, 2})};
  EXPECT_THAT(numbers.add(first), ElementsAre(0, 1, 2, 3));
  const std::vector<ProgramCommunicator> second{of("pp", {0, 1}), of("dp", {0, 1}), of("dp", {1, 2})};
  EXPECT_THAT(numbers.add(second), ElementsAre(2, 0, 4));
}

TEST(Matching, PairsCollectivesByTheirOrderOnACommunicator) {
  std::vector<Program> programs;
  for (std::int32_t r = 0; r < 2; ++r) {
    CallingRank rank(r, 2);
    const Communicator a = rank.declare("a"), b = rank.declare("b");
    // Rank 1 calls the communicators in the other order.
    for (const Communicator& c : {r == 0 ? a : b, r == 0 ? b : a, a}) rank.call(c, {rank.all_reduce()});
    programs.push_back(rank.take());
  }
  EXPECT_THAT(exchanges_of(programs), ElementsAre("0.0 1.1", "0.1 1.0", "0.2 1.2"));
}

TEST(Matching, PairsSendsWithReceivesOfTheSamePairAndDirection) {
  CallingRank first(0, 3), second(1, 3);
  const Communicator c = first.declare("pp");
  second.declare("pp");
  first.call(c, {first.send(1)}).call(c, {first.send(2)}).call(c, {first.send(1), first.receive(1)});
  second.call(c, {second.receive(0)}).call(c, {second.receive(0)}).call(c, {second.send(0)});
  const std::vector<Program> programs{first.take(), second.take()};
  EXPECT_THAT(exchanges_of(programs), ElementsAre("0.0 1.0", "0.1 2.-", "0.2 1.1", "1.2 0.2"));
}

TEST(Matching, LeavesOutATransferToNoOtherMember) {
  CallingRank rank(0, 2);
  const Communicator c = rank.declare("pp");
  rank.call(c, {rank.send(0), rank.send(7)});
  const std::vector<Program> programs{rank.take()};
  const Matching matching = match_transfers(programs);
  EXPECT_TRUE(matching.exchanges.empty());
  EXPECT_TRUE(matching.of_command[0][0].empty());
}

TEST(CallPartners, CarryTheShareOfTheBytesThatNeedThem) {
  CallingRank first(0, 3), second(1, 3);
  const Communicator c = first.declare("pp");
  second.declare("pp");
  first.call(c, {first.send(1), first.send(2), first.receive(1)});
  second.call(c, {second.receive(0)}).call(c, {second.send(0)});
  const std::vector<Program> programs{first.take(), second.take()};
  std::vector<std::string> texts;
  for (const CallPartner& of : find_call_partners(programs))
    if (of.call.program == 0)
      texts.push_back(std::to_string(of.partner.command) + ": " + std::to_string(of.send_share) + " " +
                      std::to_string(of.receive_share));
  EXPECT_THAT(texts, ElementsAre("0: 0.500000 0.000000", "1: 0.000000 1.000000"));
}

TEST(CallPartners, TakeAllCollectivesOfACallTogether) {
  std::vector<Program> programs;
  for (std::int32_t r = 0; r < 2; ++r) {
    CallingRank rank(r, 2);
    const Communicator c = rank.declare("dp");
    programs.push_back(rank.call(c, {rank.all_reduce(), rank.all_reduce()}).take());
  }
  for (const CallPartner& of : find_call_partners(programs)) {
    EXPECT_EQ(of.send_share, 1);
    EXPECT_EQ(of.receive_share, 1);
  }
}

}  // namespace
}  // namespace underlap
