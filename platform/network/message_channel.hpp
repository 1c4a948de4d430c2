// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "platform/errors.hpp"
#include "platform/file_descriptor.hpp"

namespace underlap {

/// One message between two processes: what it is, and its bytes.
struct Message {
  std::uint32_t kind = 0;
  std::string payload;
};

/// The other side has closed the channel, or has ended.
class ChannelClosed : public MachineError {
 public:
  using MachineError::MachineError;
};

using Deadline = std::chrono::steady_clock::time_point;
inline constexpr Deadline kNoDeadline = Deadline::max();

/// Messages over a stream socket: a header of 16 bytes (mark, kind, length of the payload) and the payload, in the byte
/// order of the machine, which both sides share. Messages arrive whole and in order. One thread at a time on each side.
class MessageChannel {
 public:
  static constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 36;

  /// `peer` names the other side in errors: "rank 3".
  MessageChannel(FileDescriptor socket, std::string peer);

  /// Sets the name of a peer that is now authenticated, and allows messages of up to kMostBytes.
  void trust(std::string peer) { peer_ = std::move(peer), most_bytes_ = kMostBytes; }
  /// Rejects longer messages. For peers that have not identified themselves yet.
  void limit(std::uint64_t most_bytes) { most_bytes_ = most_bytes; }

  /// Sends a message. Throws ChannelClosed if the other side is closed, MachineError at the deadline; the channel is
  /// unusable after either.
  void send(std::uint32_t kind, std::string_view payload, Deadline deadline = kNoDeadline);

  /// Waits for the next message. Throws ChannelClosed at the channel's end; MachineError at the deadline, and for what
  /// is no message.
  Message receive(Deadline deadline = kNoDeadline);

  /// Takes what has arrived without waiting: a message, or nullopt while it is not whole. Throws as receive() does.
  std::optional<Message> try_receive();

  /// To poll for what arrives.
  int descriptor() const { return socket_.get(); }
  const FileDescriptor& socket() const { return socket_; }
  /// Gives the socket away; the channel is of no use then. Nothing may have been received in part.
  FileDescriptor release() { return std::move(socket_); }
  const std::string& peer() const { return peer_; }

 private:
  struct Header {
    std::uint32_t mark = 0;
    std::uint32_t kind = 0;
    std::uint64_t bytes = 0;
  };

  void send_all(const char* data, std::size_t bytes, Deadline deadline);
  bool wait_for(short events, Deadline deadline) const;
  std::size_t read_some(char* data, std::size_t bytes);
  void begin_payload();

  FileDescriptor socket_;
  std::string peer_;
  std::uint64_t most_bytes_ = kMostBytes;
  std::array<char, sizeof(Header)> header_{};
  std::size_t num_read_ = 0;  // of the message that is arriving, its header included
  Message arriving_;
};

}  // namespace underlap
