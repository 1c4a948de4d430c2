// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "impl/pp/script.hpp"
#include "impl/pp/technique.hpp"

namespace underlap::pp {

/// The ways between a stage and its neighbours.
///
/// Batched: one communicator of all stages. Otherwise one for each directed link and direction of flow, so that no
/// message waits in the stream of another; PyTorch makes one for each pair of ranks, and Megatron sends one of the two
/// directions through another group where a stage has the same neighbour on both sides. Here that needs no care.
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

}  // namespace underlap::pp
