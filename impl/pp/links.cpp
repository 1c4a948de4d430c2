// SPDX-License-Identifier: Apache-2.0
#include "impl/pp/links.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace underlap::pp {
namespace {

constexpr std::size_t kReceiveForward = 0, kReceiveBackward = 1, kSendForward = 2, kSendBackward = 3;

}  // namespace

Links::Links(const Context& context)
    : stage_(context.group.my_index),
      num_stages_(context.group.size()),
      is_batched_(context.config->pipeline.batch_p2p_comm) {
  const CommunicatorHints hints{.priority = context.config->environment.torch_nccl_high_priority ? Priority::high
                                                                                                 : Priority::normal};
  if (is_batched_) {
    communicators_[0] = context.device->declare("pp", context.group, hints);
    return;
  }
  const bool is_ring = context.config->parallel.virtual_pipeline_model_parallel_size > 1;
  const auto declare = [&](const char* flow, std::size_t send, std::size_t receive, std::int32_t from,
                           std::int32_t to) {
    if (stage_ != from && stage_ != to) return;
    const auto member = [&](std::int32_t stage) { return context.group.members.at(static_cast<std::size_t>(stage)); };
    const Group pair{{member(from), member(to)}, stage_ == from ? 0 : 1};
    communicators_.at(stage_ == from ? send : receive) =
        context.device->declare(fmt::format("pp_{}_{}_{}", flow, from, to), pair, hints);
  };
  for (std::int32_t from = 0; from < num_stages_; ++from)
    if (const std::int32_t to = (from + 1) % num_stages_; to != 0 || is_ring)
      declare("forward", kSendForward, kReceiveForward, from, to);
  for (std::int32_t to = 0; to < num_stages_; ++to)
    if (const std::int32_t from = (to + 1) % num_stages_; from != 0 || is_ring)
      declare("backward", kSendBackward, kReceiveBackward, from, to);
}

Transfer Links::transfer(const Message& message, const View& view) const {
  const bool is_with_next = message.is_send() == message.is_forward();
  const std::int32_t neighbour = (stage_ + (is_with_next ? 1 : num_stages_ - 1)) % num_stages_;
  const std::int32_t peer = is_batched_ ? neighbour : (message.is_send() ? 1 : 0);
  if (message.is_send()) return {.collective = Collective::send, .input = view, .output = {}, .peer = peer};
  return {.collective = Collective::receive, .input = {}, .output = view, .peer = peer};
}

std::vector<Message> Links::in_order(std::vector<Message> messages) const {
  // Place of each kind, in the order of the constants above.
  constexpr std::array<int, Message::kNumKinds> kBatched{1, 3, 2, 0};  // send back, receive, send on, receive back
  constexpr std::array<int, Message::kNumKinds> kEven{1, 3, 0, 2};
  constexpr std::array<int, Message::kNumKinds> kOdd{0, 2, 1, 3};
  const auto& place = is_batched_ ? kBatched : stage_ % 2 == 0 ? kEven : kOdd;
  std::sort(messages.begin(), messages.end(),
            [&](const Message& a, const Message& b) { return place.at(a.kind()) < place.at(b.kind()); });
  return messages;
}

}  // namespace underlap::pp
