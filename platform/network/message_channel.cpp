// SPDX-License-Identifier: Apache-2.0
#include "platform/network/message_channel.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace underlap {
namespace {

constexpr std::uint32_t kMark = 0x554C4150;  // distinguishes a message from stray bytes

bool would_wait(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

// Of a peer on another machine, which may vanish without a word.
bool is_out_of_reach(int error) { return error == ETIMEDOUT || error == EHOSTUNREACH || error == ENETUNREACH; }

int milliseconds_until(Deadline deadline) {
  if (deadline == kNoDeadline) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

}  // namespace

MessageChannel::MessageChannel(FileDescriptor socket, std::string peer)
    : socket_(std::move(socket)), peer_(std::move(peer)) {}

bool MessageChannel::wait_for(short events, Deadline deadline) const {
  while (true) {
    pollfd waiting{socket_.get(), events, 0};
    if (::poll(&waiting, 1, milliseconds_until(deadline)) > 0) return true;
    if (std::chrono::steady_clock::now() >= deadline) return false;
  }
}

void MessageChannel::send(std::uint32_t kind, std::string_view payload, Deadline deadline) {
  const Header header{kMark, kind, payload.size()};
  send_all(reinterpret_cast<const char*>(&header), sizeof header, deadline);
  send_all(payload.data(), payload.size(), deadline);
}

void MessageChannel::send_all(const char* data, std::size_t bytes, Deadline deadline) {
  while (bytes > 0) {
    const ssize_t sent = ::send(socket_.get(), data, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      data += sent;
      bytes -= static_cast<std::size_t>(sent);
    } else if (errno == EPIPE || errno == ECONNRESET) {
      throw ChannelClosed(fmt::format("{} closed its channel", peer_));
    } else if (is_out_of_reach(errno)) {
      throw ChannelClosed(fmt::format("{} is unreachable ({})", peer_, std::strerror(errno)));
    } else if (!would_wait(errno)) {
      throw MachineError(fmt::format("cannot write to the channel to {}: {}", peer_, std::strerror(errno)));
    } else if (!wait_for(POLLOUT, deadline)) {
      throw MachineError(fmt::format("{} did not receive a message in time", peer_));
    }
  }
}

Message MessageChannel::receive(Deadline deadline) {
  while (true) {
    if (std::optional<Message> message = try_receive()) return std::move(*message);
    if (!wait_for(POLLIN, deadline)) throw MachineError(fmt::format("{} did not answer in time", peer_));
  }
}

std::optional<Message> MessageChannel::try_receive() {
  while (true) {
    const bool in_header = num_read_ < sizeof(Header);
    char* const data = in_header ? header_.data() + num_read_ : arriving_.payload.data() + num_read_ - sizeof(Header);
    const std::size_t wanted = sizeof(Header) + (in_header ? 0 : arriving_.payload.size()) - num_read_;
    if (wanted > 0) {
      const std::size_t got = read_some(data, wanted);
      if (got == 0) return std::nullopt;
      num_read_ += got;
      if (in_header && num_read_ == sizeof(Header)) begin_payload();
    }
    if (num_read_ < sizeof(Header) || num_read_ < sizeof(Header) + arriving_.payload.size()) continue;
    num_read_ = 0;
    return std::exchange(arriving_, {});
  }
}

void MessageChannel::begin_payload() {
  Header header;
  std::memcpy(&header, header_.data(), sizeof header);
  if (header.mark != kMark || header.bytes > most_bytes_)
    throw MachineError(fmt::format("{} sent an invalid message", peer_));
  arriving_ = {header.kind, std::string(header.bytes, '\0')};
}

// 0: nothing is there now.
std::size_t MessageChannel::read_some(char* data, std::size_t bytes) {
  const ssize_t got = ::recv(socket_.get(), data, bytes, MSG_DONTWAIT);
  if (got > 0) return static_cast<std::size_t>(got);
  if (got == 0 || errno == ECONNRESET)
    throw ChannelClosed(num_read_ == 0 ? fmt::format("{} closed its channel", peer_)
                                       : fmt::format("{} closed its channel in the middle of a message", peer_));
  if (would_wait(errno)) return 0;
  if (is_out_of_reach(errno)) throw ChannelClosed(fmt::format("{} is unreachable ({})", peer_, std::strerror(errno)));
  throw MachineError(fmt::format("cannot read from the channel to {}: {}", peer_, std::strerror(errno)));
}

}  // namespace underlap
