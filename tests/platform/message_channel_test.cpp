// SPDX-License-Identifier: Apache-2.0
#include "platform/network/message_channel.hpp"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <optional>
#include <thread>

namespace underlap {
namespace {

using ::testing::HasSubstr, ::testing::ThrowsMessage;

struct Ends {
  Ends() {
    std::array<int, 2> numbers{};
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, numbers.data()) != 0) throw MachineError("socketpair");
    raw = numbers[1];
    here.emplace(FileDescriptor(numbers[0]), "rank 3");
    there.emplace(FileDescriptor(numbers[1]), "the run");
  }
  int raw = -1;  // the descriptor of `there`
  std::optional<MessageChannel> here;
  std::optional<MessageChannel> there;
};

Deadline soon() { return std::chrono::steady_clock::now() + std::chrono::milliseconds(20); }

TEST(MessageChannel, CarriesMessagesWholeAndInOrder) {
  Ends ends;
  ends.there->send(1, "first");
  ends.there->send(2, "");
  ends.there->send(3, std::string("a\0b", 3));
  EXPECT_EQ(ends.here->receive().payload, "first");
  const Message empty = ends.here->receive();
  EXPECT_EQ(empty.kind, 2U);
  EXPECT_EQ(empty.payload, "");
  EXPECT_EQ(ends.here->receive().payload.size(), 3U);
  EXPECT_FALSE(ends.here->try_receive());
}

TEST(MessageChannel, TakesNoLongMessageOfWhomItDoesNotTrust) {
  Ends ends;
  ends.here->limit(100);
  ends.there->send(1, std::string(100, 'x'));
  EXPECT_EQ(ends.here->receive().payload.size(), 100U);
  ends.there->send(1, std::string(101, 'x'));
  EXPECT_THAT([&] { ends.here->receive(); }, ThrowsMessage<MachineError>(HasSubstr("an invalid message")));
  Ends trusted;
  trusted.here->limit(100);
  trusted.here->trust("rank 4");
  trusted.there->send(1, std::string(101, 'x'));
  EXPECT_EQ(trusted.here->receive().payload.size(), 101U);
  EXPECT_EQ(trusted.here->peer(), "rank 4");
}

TEST(MessageChannel, CarriesMoreThanASocketHolds) {
  Ends ends;
  std::string large(50'000'000, 'x');
  for (std::size_t i = 0; i < large.size(); i += 4096) large[i] = static_cast<char>(i >> 12);
  std::thread sender([&] { ends.there->send(9, large); });
  const Message message = ends.here->receive();
  sender.join();
  EXPECT_EQ(message.kind, 9U);
  EXPECT_TRUE(message.payload == large);
}

TEST(MessageChannel, TakesAMessageThatComesInPieces) {
  Ends source;
  source.there->send(5, "payload");
  std::array<char, 64> bytes{};
  const ssize_t size = ::recv(source.here->descriptor(), bytes.data(), bytes.size(), 0);
  Ends ends;
  for (ssize_t i = 0; i < size; ++i) {
    EXPECT_FALSE(ends.here->try_receive()) << i;
    ASSERT_EQ(::write(ends.raw, &bytes[static_cast<std::size_t>(i)], 1), 1);
  }
  const std::optional<Message> message = ends.here->try_receive();
  ASSERT_TRUE(message);
  EXPECT_EQ(message->kind, 5U);
  EXPECT_EQ(message->payload, "payload");
}

TEST(MessageChannel, EndIsAnErrorThatNamesThePeer) {
  Ends ends;
  ends.there->send(1, "last");
  ends.there.reset();
  EXPECT_EQ(ends.here->receive().payload, "last");
  EXPECT_THAT([&] { ends.here->receive(); }, ThrowsMessage<ChannelClosed>("rank 3 closed its channel"));
  EXPECT_THAT([&] { ends.here->send(1, "too late"); }, ThrowsMessage<ChannelClosed>("rank 3 closed its channel"));
}

TEST(MessageChannel, EndInTheMiddleOfAMessageSaysSo) {
  Ends ends;
  const std::array<std::uint32_t, 4> header{0x554C4150, 1, 100, 0};
  ASSERT_EQ(::write(ends.raw, header.data(), sizeof header), 16);
  ASSERT_EQ(::write(ends.raw, "part", 4), 4);
  ends.there.reset();
  EXPECT_THAT([&] { ends.here->receive(); }, ThrowsMessage<ChannelClosed>(HasSubstr("in the middle of a message")));
}

TEST(MessageChannel, DeadlinesNameThePeer) {
  Ends ends;
  EXPECT_THAT([&] { ends.here->receive(soon()); }, ThrowsMessage<MachineError>("rank 3 did not answer in time"));
  const std::string large(50'000'000, 'x');
  EXPECT_THAT([&] { ends.here->send(1, large, soon()); },
              ThrowsMessage<MachineError>("rank 3 did not receive a message in time"));
}

TEST(MessageChannel, RefusesStrayBytes) {
  Ends ends;
  ASSERT_EQ(::write(ends.raw, "printed by a library", 20), 20);
  EXPECT_THAT([&] { ends.here->receive(); }, ThrowsMessage<MachineError>(HasSubstr("rank 3 sent an invalid message")));
}

}  // namespace
}  // namespace underlap
