// SPDX-License-Identifier: Apache-2.0
#include "platform/network/tcp.hpp"

#include <gmock/gmock.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <chrono>
#include <string>

#include "platform/network/message_channel.hpp"

namespace underlap {
namespace {

using ::testing::AnyOf, ::testing::HasSubstr, ::testing::Not;

constexpr std::chrono::milliseconds kPatience{20'000};

FileDescriptor accepted(TcpListener& listener) {
  pollfd waiting{listener.descriptor(), POLLIN, 0};
  ::poll(&waiting, 1, static_cast<int>(kPatience.count()));
  return listener.accept();
}

int option_of(const FileDescriptor& socket, int level, int option) {
  int value = 0;
  socklen_t length = sizeof value;
  ::getsockopt(socket.get(), level, option, &value, &length);
  return value;
}

TEST(Tcp, CarriesMessagesBothWays) {
  TcpListener listener(TcpReach::network);
  std::string why;
  MessageChannel here(connect_tcp("127.0.0.1", listener.port(), kPatience, why), "there");
  MessageChannel there(accepted(listener), "here");
  here.send(1, "ping");
  EXPECT_EQ(there.receive().payload, "ping");
  there.send(2, "pong");
  EXPECT_EQ(here.receive().payload, "pong");
  EXPECT_EQ(own_address(here.socket()), "127.0.0.1");
  EXPECT_EQ(own_address(there.socket()), "127.0.0.1") << "and not as IPv6 has it";
}

TEST(Tcp, ListensOnTheLoopbackOnlyWhereAsked) {
  TcpListener listener(TcpReach::this_machine);
  std::string why;
  EXPECT_TRUE(connect_tcp("127.0.0.1", listener.port(), kPatience, why)) << why;
  for (const std::string& address : interface_addresses())
    EXPECT_FALSE(connect_tcp(address, listener.port(), std::chrono::milliseconds(500), why)) << address;
}

TEST(Tcp, NobodyWaitsAtAListenerAtFirst) {
  TcpListener listener(TcpReach::network);
  EXPECT_FALSE(listener.accept());
}

TEST(Tcp, SaysWhyNobodyIsReached) {
  std::uint16_t port = 0;
  {
    const TcpListener listener(TcpReach::network);
    port = listener.port();
  }
  std::string why;
  EXPECT_FALSE(connect_tcp("127.0.0.1", port, kPatience, why));
  EXPECT_EQ(why, "Connection refused");
  EXPECT_FALSE(connect_tcp("no.such.host.invalid", port, kPatience, why));
  EXPECT_THAT(why, Not(HasSubstr("refused")));
}

// A machine that vanishes says nothing: the system must ask.
TEST(Tcp, BothSidesProbeASilentPeer) {
  TcpListener listener(TcpReach::network);
  std::string why;
  const FileDescriptor here = connect_tcp("127.0.0.1", listener.port(), kPatience, why);
  const FileDescriptor there = accepted(listener);
  for (const FileDescriptor* side : {&here, &there}) {
    EXPECT_EQ(option_of(*side, SOL_SOCKET, SO_KEEPALIVE), 1);
    const int lost_after_s = option_of(*side, IPPROTO_TCP, TCP_KEEPIDLE) +
                             option_of(*side, IPPROTO_TCP, TCP_KEEPINTVL) * option_of(*side, IPPROTO_TCP, TCP_KEEPCNT);
    EXPECT_EQ(lost_after_s, kTcpPatience.count());
    EXPECT_EQ(option_of(*side, IPPROTO_TCP, TCP_USER_TIMEOUT), kTcpPatience.count() * 1000);
  }
}

TEST(Tcp, TellsNoLoopbackAmongTheInterfaces) {
  for (const std::string& address : interface_addresses())
    EXPECT_THAT(address, Not(AnyOf("127.0.0.1", "::1", HasSubstr("fe80"), HasSubstr("%"))));
}

}  // namespace
}  // namespace underlap
