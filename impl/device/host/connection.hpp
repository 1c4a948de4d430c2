// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "impl/device/device.hpp"

namespace gloo {
namespace rendezvous {
class Context;
}
namespace transport {
class UnboundBuffer;
}
}  // namespace gloo

namespace underlap::host {

/// Which communication a message belongs to, for the message of an error.
struct CommunicationId {
  NameId purpose = kNoName;
  Collective collective = Collective::all_reduce;
  std::uint64_t sequence = 0;
};

/// Blocks SIGPIPE on the calling thread for good: writing to a peer that is gone is then an error and not the process's
/// end. To be called on every thread that sends.
void block_broken_pipe_signal() noexcept;

/// One member's channel to all other members of one communicator.
///
/// Messages between two members match in the order in which each side posts them. One thread at a time posts and waits;
/// abort() may come from any thread.
class Connection {
 public:
  /// `context` is null for a group of one.
  Connection(std::shared_ptr<gloo::rendezvous::Context> context, Group group, std::chrono::milliseconds peer_timeout);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  const Group& group() const { return group_; }

  /// Wakes every waiter, now and later; each throws MachineError. The connection is of no use afterwards.
  void abort() noexcept;

  /// Messages posted together and waited for together. Memory that they name must outlive them.
  class Exchange {
   public:
    Exchange(Connection& connection, const CommunicationId& id);
    /// Messages that were not waited for are given up, and the connection with them: when this returns, the transport
    /// touches their memory no more.
    ~Exchange();
    Exchange(const Exchange&) = delete;
    Exchange& operator=(const Exchange&) = delete;

    void send(std::int32_t peer, std::span<const std::byte> bytes);
    void receive(std::int32_t peer, std::span<std::byte> bytes);

    /// Waits until all posted messages are sent and received. Throws MachineError naming the peer, the operation and
    /// its sequence number, at the deadline at the latest.
    void wait();

    std::int64_t bytes_sent() const { return bytes_sent_; }
    std::int64_t bytes_received() const { return bytes_received_; }

   private:
    struct Message {
      std::unique_ptr<gloo::transport::UnboundBuffer> buffer;
      std::int32_t peer = 0;
      bool is_send = false;
    };
    void wait(const Message& message, std::chrono::steady_clock::time_point deadline);

    Connection& connection_;
    CommunicationId id_;
    std::vector<Message> messages_;
    std::int64_t bytes_sent_ = 0;
    std::int64_t bytes_received_ = 0;
  };

 private:
  void close() noexcept;
  std::string describe(const CommunicationId& id, std::int32_t peer) const;
  void watch(gloo::transport::UnboundBuffer* buffer);
  void unwatch(gloo::transport::UnboundBuffer* buffer) noexcept;

  std::shared_ptr<gloo::rendezvous::Context> context_;
  Group group_;
  std::chrono::milliseconds peer_timeout_;
  std::vector<std::uint64_t> num_sent_;      // by peer: the slot of the next message
  std::vector<std::uint64_t> num_received_;  // by peer

  std::mutex mutex_;
  bool aborted_ = false;
  std::vector<gloo::transport::UnboundBuffer*> watched_;
};

}  // namespace underlap::host
