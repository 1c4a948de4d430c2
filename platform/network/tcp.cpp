// SPDX-License-Identifier: Apache-2.0
#include "platform/network/tcp.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>

#include "platform/errors.hpp"

namespace underlap {
namespace {

constexpr int kProbeSeconds = 5;  // between two signs of life that the system asks for
constexpr int kBacklog = 1024;

void set_option(const FileDescriptor& socket, int level, int option, int value) {
  ::setsockopt(socket.get(), level, option, &value, sizeof value);
}

// The system probes a silent peer and closes the connection if it is gone, even if the processes on both sides are
// busy.
void watch_peer(const FileDescriptor& socket) {
  constexpr int kTimeoutSeconds = static_cast<int>(kTcpPatience.count());
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, kProbeSeconds);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, kProbeSeconds);
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, kTimeoutSeconds / kProbeSeconds - 1);
  set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, kTimeoutSeconds * 1000);
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
}

std::string address_text(const sockaddr* address) {
  const bool is_ip = address != nullptr && (address->sa_family == AF_INET || address->sa_family == AF_INET6);
  if (!is_ip) return "";
  const socklen_t length = address->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  std::array<char, NI_MAXHOST> text{};
  if (::getnameinfo(address, length, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) != 0) return "";
  const std::string_view found = text.data();
  constexpr std::string_view kMapped = "::ffff:";  // of IPv4, on a socket for both
  return std::string(found.starts_with(kMapped) ? found.substr(kMapped.size()) : found);
}

FileDescriptor open_ipv4(in_addr_t address) {
  FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in own{};
  own.sin_family = AF_INET;
  own.sin_addr.s_addr = htonl(address);
  if (!socket || ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&own), sizeof own) != 0)
    throw MachineError(fmt::format("cannot open a TCP port: {}", system_reason(errno)));
  return socket;
}

// On the network for IPv6 and IPv4; for IPv4 alone where the machine has no other.
FileDescriptor open_listener(TcpReach reach) {
  if (reach == TcpReach::this_machine) return open_ipv4(INADDR_LOOPBACK);
  FileDescriptor both(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (both) {
    set_option(both, IPPROTO_IPV6, IPV6_V6ONLY, 0);
    sockaddr_in6 any{};
    any.sin6_family = AF_INET6;
    any.sin6_addr = in6addr_any;
    if (::bind(both.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any) == 0) return both;
  }
  return open_ipv4(INADDR_ANY);
}

std::uint16_t port_of(const FileDescriptor& socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &length);
  const bool is_ipv6 = address.ss_family == AF_INET6;
  return ntohs(is_ipv6 ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                       : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

// 0, or the error.
int connect_within(const FileDescriptor& socket, const addrinfo& to, std::chrono::milliseconds timeout) {
  if (::connect(socket.get(), to.ai_addr, to.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  pollfd waiting{socket.get(), POLLOUT, 0};
  if (::poll(&waiting, 1, static_cast<int>(timeout.count())) <= 0) return ETIMEDOUT;
  int error = 0;
  socklen_t length = sizeof error;
  ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length);
  return error;
}

}  // namespace

TcpListener::TcpListener(TcpReach reach) : socket_(open_listener(reach)), port_(port_of(socket_)) {
  if (::listen(socket_.get(), kBacklog) != 0)
    throw MachineError(fmt::format("cannot listen on a TCP port: {}", system_reason(errno)));
}

FileDescriptor TcpListener::accept() {
  FileDescriptor connection(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (connection) watch_peer(connection);
  return connection;
}

FileDescriptor connect_tcp(const std::string& host, std::uint16_t port, std::chrono::milliseconds timeout,
                           std::string& why) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(host.c_str(), fmt::format("{}", port).c_str(), &hints, &found); error != 0) {
    why = ::gai_strerror(error);
    return {};
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(found, ::freeaddrinfo);
  for (const addrinfo* to = found; to != nullptr; to = to->ai_next) {
    FileDescriptor socket(::socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int error = socket ? connect_within(socket, *to, timeout) : errno;
    if (error == 0) {
      ::fcntl(socket.get(), F_SETFL, 0);
      watch_peer(socket);
      return socket;
    }
    why = std::strerror(error);
  }
  return {};
}

std::string own_address(const FileDescriptor& connection) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (::getsockname(connection.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0) return "";
  return address_text(reinterpret_cast<const sockaddr*>(&address));
}

std::vector<std::string> interface_addresses() {
  std::vector<std::string> addresses;
  ifaddrs* found = nullptr;
  if (::getifaddrs(&found) != 0) return addresses;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(found, ::freeifaddrs);
  for (const ifaddrs* each = found; each != nullptr; each = each->ifa_next) {
    if ((each->ifa_flags & IFF_UP) == 0 || (each->ifa_flags & IFF_LOOPBACK) != 0) continue;
    const std::string text = address_text(each->ifa_addr);
    const bool is_of_one_link = text.starts_with("fe80");  // means nothing on another machine
    if (!text.empty() && !is_of_one_link) addresses.push_back(text);
  }
  return addresses;
}

}  // namespace underlap
