// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "impl/pp/scatter_gather.hpp"
#include "impl/pp/script.hpp"
#include "impl/pp/technique.hpp"

namespace underlap::pp {

/// The ways between a stage and its neighbors.
///
/// Batched: one communicator of all stages. Otherwise one for each directed link and direction of flow, so that no
/// message waits in the stream of another; PyTorch makes one for each pair of ranks, and Megatron sends one of the two
/// directions through another group where a stage has the same neighbor on both sides. Here that needs no care.
class Links {
 public:
  /// Declares this stage's communicators; all stages do so in one order, before Device::begin(). With virtual stages
  /// there is also a link between the last stage and the first.
  explicit Links(const Context& context);

  bool is_batched() const { return is_batched_; }
  const Communicator& of(const Message& message) const { return communicators_.at(is_batched_ ? 0 : message.kind()); }
  /// One side of a transfer of `view`.
  Transfer transfer(const Message& message, const View& view) const;
  /// The order in which a call's messages are posted: as Megatron, even and odd stages the other way round where each
  /// message is a call of its own.
  std::vector<Message> in_order(std::vector<Message> messages) const;

 private:
  std::int32_t stage_;
  std::int32_t num_stages_;
  bool is_batched_;
  std::array<Communicator, Message::kNumKinds> communicators_{};  // by kind of message
};

/// The buffers of what a stage receives and sends, the calls that fill and empty them, and every order between these
/// and compute.
///
/// An order that results depend on is a wait, and is given only where no earlier one implies it. Beyond that a call
/// is throttled by compute: as in PyTorch it starts no earlier than what compute held when it was posted.
class Exchanges {
 public:
  /// `num_buffers`: [rows, cols] bf16 each, by kind of message.
  Exchanges(const Context& context, const std::array<std::int64_t, Message::kNumKinds>& num_buffers);

  void begin_step(std::int32_t step);
  /// Compute was given the work of a pass.
  void end_pass() { ++order_; }

  /// A buffer for what `pass` hands on, for compute to write. It is held until the message is awaited or released.
  View begin_write(const Pass& pass);
  /// What was received for `pass`, which compute has awaited; where it came in parts, compute waits for all of them.
  View received(const Pass& pass);
  /// Nothing that compute is given from now on reads what was received for `pass`.
  void end_read(const Pass& pass);

  /// Posts `messages` after what compute holds. A receive takes a buffer; what is sent has been written.
  void post(std::vector<Message> messages);
  /// Compute waits for the call of `message`, and where parts were received for their gather. A send is released with
  /// it.
  void await(const Message& message);
  /// The buffer of a send is free once it has left, and its next writer waits for that.
  void release(const Message& message);
  /// The host waits for everything.
  void synchronize();

 private:
  /// A place in what the compute stream was given; 0: before all.
  struct Moment {
    Event event;
    std::uint64_t order = 0;
  };
  struct Call {
    std::size_t lane = 0;
    std::uint64_t number = 0;  // on that lane, from 1; 0: none
    Event done;
  };
  /// By lane: the last call that something is ordered after.
  using Calls = std::array<std::uint64_t, Message::kNumKinds>;
  struct Gather {
    std::uint64_t number = 0;  // from 1; 0: none
    Event done;
    Calls behind{};
  };
  struct Buffer {
    View view;
    Moment read;    // of a received one: until then compute used it
    Call call;      // that filled or emptied it last
    Gather gather;  // of the parts that `call` received
  };
  struct Held {
    Pass pass;
    Buffer buffer;
  };
  /// One communicator's stream, and its known order relative to compute.
  struct Lane {
    std::uint64_t follows = 0;       // the last moment of compute that its calls wait for
    std::uint64_t throttled_to = 0;  // the same, for the sake of time
    std::uint64_t num_calls = 0;
    std::uint64_t awaited = 0;  // the last call that compute waits for
  };
  /// Buffers of one kind of message.
  struct Pool {
    std::vector<Buffer> free;  // the longest free first
    std::vector<Held> held;
  };

  Moment now();
  Held& take(const Message& message);
  Held& held(const Message& message);
  void give_back(const Message& message);
  void start(std::span<const Message> group);
  void follow(Lane& lane, Stream stream, const Moment& needed);
  void await(const Call& call);
  void gather(const Message& message, Buffer& buffer);
  Tag tag(std::span<const Message> group) const;
  std::size_t lane_of(const Message& message) const { return links_.is_batched() ? 0 : message.kind(); }

  Device& device_;
  Stream compute_;
  Links links_;
  std::optional<ScatterGather> parts_;  // where stages exchange parts
  std::array<Pool, Message::kNumKinds> pools_;
  std::array<Lane, Message::kNumKinds> lanes_{};
  Calls gathered_{};  // that gathers wait for
  std::uint64_t num_gathers_ = 0;
  std::uint64_t gathers_awaited_ = 0;                        // the last that compute waits for
  std::array<NameId, 1U << Message::kNumKinds> purposes_{};  // by the set of kinds in one call
  std::uint64_t order_ = 1;                                  // of what compute is given next
  std::int32_t step_ = -1;
};

}  // namespace underlap::pp
