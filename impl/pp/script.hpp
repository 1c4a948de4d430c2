// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <vector>

#include "impl/plan/config.hpp"
#include "impl/plan/pipeline_schedules.hpp"
#include "impl/pp/schedule.hpp"

namespace underlap::pp {

/// One side of an exchange between two stages: sends what `pass` wrote, or receives what `pass` will read. A forward
/// pass's messages are activations, a backward pass's are gradients.
struct Message {
  enum class Type : std::uint8_t { receive, send };
  static constexpr std::size_t kNumKinds = 4;

  Type type = Type::receive;
  Pass pass;

  bool is_send() const { return type == Type::send; }
  bool is_forward() const { return pass.direction == Direction::forward; }
  /// The messages of one kind share buffers: below kNumKinds.
  std::size_t kind() const { return (is_send() ? 2U : 0U) + (is_forward() ? 0U : 1U); }

  friend bool operator==(const Message&, const Message&) = default;
};

/// One thing that a stage's host does in a step.
struct Action {
  enum class Type : std::uint8_t {
    run,            ///< enqueues `pass`
    dgrad,          ///< enqueues the first half of `pass`, a backward pass: see Stage::dgrad
    wgrad,          ///< enqueues its second half
    post,           ///< enqueues `messages`, as one group where exchanges are batched
    await,          ///< compute waits for messages[0]
    release,        ///< the buffer of messages[0], which was sent, may be used again once it has left
    synchronize,    ///< the host waits for the device
    gather,         ///< starts to gather the parameters of `chunk`
    reduce,         ///< starts to reduce the gradients of `chunk`
    finish_wgrads,  ///< computes the head's deferred weight gradients
  };
  Type type = Type::run;
  Pass pass{};
  std::vector<Message> messages{};
  std::int32_t chunk = 0;
};

/// A step of one stage as a technique writes it: the same every time, so it is written once.
class Script {
 public:
  /// Begins with the gathers that all stages start first.
  Script(const plan::Config& config, std::int32_t stage);

  const Schedule& schedule() const { return schedule_; }
  const plan::Config& config() const { return config_; }

  /// What the k-th pass of a direction sends, what it reads, and what arrives during it. nullopt: nothing.
  std::optional<Message> send(Direction direction, std::int64_t k) const;
  std::optional<Message> receive(Direction direction, std::int64_t k) const;
  std::optional<Message> arrival(Direction direction, std::int64_t k) const;

  /// The k-th pass of a direction, with the gathers and reductions that are aligned with it.
  void forward(std::int64_t k);
  void backward(std::int64_t k);
  /// The k-th backward pass in two halves. A stage has all of its backward passes whole or all in halves, and either
  /// half of them in their order.
  void dgrad(std::int64_t k);
  void wgrad(std::int64_t k);

  /// Posts those messages that there are.
  void post(std::initializer_list<std::optional<Message>> messages);
  void await(const std::optional<Message>& message);
  void release(const std::optional<Message>& message);
  /// Posts the messages, calls the function to enqueue concurrent work, and waits for all messages; under
  /// batch_p2p_sync the host waits.
  void exchange(std::initializer_list<std::optional<Message>> messages,
                const std::function<void()>& concurrent_work = {});

  /// Adds the actions after the last backward pass.
  void finish();
  const std::vector<Action>& actions() const { return actions_; }

 private:
  void reduce_aligned(std::int64_t k);
  void start_reduce(std::int32_t chunk);
  bool defers_wgrads() const;

  plan::Config config_;
  Schedule schedule_;
  bool aligns_gathers_;
  bool aligns_reduces_;
  std::vector<bool> is_reduced_;  // by chunk
  std::vector<Action> actions_;
};

/// The received messages that are not read again once `action` is enqueued. The input of the chunk's forward pass is
/// free after its backward pass or the first half of that; the gradient of its output, after the whole backward pass.
std::vector<Message> last_reads(const Schedule& schedule, const Action& action);

/// How many buffers of each kind of message a script needs. What is received is held from its post until its last read;
/// what is sent, from the pass that writes it until it is awaited or released.
std::array<std::int64_t, Message::kNumKinds> count_buffers(const Script& script);

plan::InFlight count_in_flight(const Script& script, std::int32_t chunk);

}  // namespace underlap::pp
