// SPDX-License-Identifier: Apache-2.0
#include "impl/pp/script.hpp"

#include <algorithm>
#include <utility>

namespace underlap::pp {

Script::Script(const plan::Config& config, std::int32_t stage)
    : config_(config),
      schedule_(config, stage),
      aligns_gathers_(launches_gathers(config)),
      aligns_reduces_(launches_reduces(config, stage)),
      is_reduced_(static_cast<std::size_t>(schedule_.num_chunks())) {
  if (!aligns_gathers_) return;
  for (const std::int32_t chunk : {0, 1}) actions_.push_back({.type = Action::Type::gather, .chunk = chunk});
}

std::optional<Message> Script::send(Direction direction, std::int64_t k) const {
  const Pass pass = schedule_.pass(direction, k);
  return schedule_.has_output(pass) ? std::optional(Message{Message::Type::send, pass}) : std::nullopt;
}

std::optional<Message> Script::receive(Direction direction, std::int64_t k) const {
  const Pass pass = schedule_.pass(direction, k);
  return schedule_.has_input(pass) ? std::optional(Message{Message::Type::receive, pass}) : std::nullopt;
}

std::optional<Message> Script::arrival(Direction direction, std::int64_t k) const {
  const std::optional<Pass> pass = schedule_.arrival(direction, k);
  if (!pass || !schedule_.has_input(*pass)) return std::nullopt;
  return Message{Message::Type::receive, *pass};
}

void Script::forward(std::int64_t k) {
  if (const auto chunk = schedule_.gather_before_forward(k); chunk && aligns_gathers_)
    actions_.push_back({.type = Action::Type::gather, .chunk = *chunk});
  actions_.push_back({.type = Action::Type::run, .pass = schedule_.pass(Direction::forward, k)});
}

void Script::backward(std::int64_t k) {
  actions_.push_back({.type = Action::Type::run, .pass = schedule_.pass(Direction::backward, k)});
  const auto chunk = schedule_.reduce_after_backward(k);
  // Megatron's order knows no gradient that is yet to come: the chunk of a head that is put off is reduced at the end.
  if (chunk && aligns_reduces_ && !(defers_wgrads() && *chunk == schedule_.num_chunks() - 1)) start_reduce(*chunk);
}

void Script::post(std::initializer_list<std::optional<Message>> messages) {
  Action action{.type = Action::Type::post};
  for (const std::optional<Message>& message : messages)
    if (message) action.messages.push_back(*message);
  if (!action.messages.empty()) actions_.push_back(std::move(action));
}

void Script::await(const std::optional<Message>& message) {
  if (message) actions_.push_back({.type = Action::Type::await, .messages = {*message}});
}

void Script::release(const std::optional<Message>& message) {
  if (message) actions_.push_back({.type = Action::Type::release, .messages = {*message}});
}

void Script::exchange(std::initializer_list<std::optional<Message>> messages) {
  const std::size_t before = actions_.size();
  post(messages);
  if (actions_.size() == before) return;
  if (config_.pipeline.batch_p2p_comm && config_.pipeline.batch_p2p_sync)
    actions_.push_back({.type = Action::Type::synchronize});
  for (const bool sends : {false, true})
    for (const std::optional<Message>& message : messages)
      if (message && message->is_send() == sends) await(message);
}

bool Script::defers_wgrads() const {
  return config_.pipeline.defer_embedding_wgrad_compute && schedule_.is_last_stage();
}

void Script::start_reduce(std::int32_t chunk) {
  is_reduced_[static_cast<std::size_t>(chunk)] = true;
  actions_.push_back({.type = Action::Type::reduce, .chunk = chunk});
}

std::vector<Action> Script::finish() {
  const std::int32_t head = schedule_.num_chunks() - 1;
  const auto reduce = [&](std::int32_t chunk) {
    if (aligns_reduces_ && !is_reduced_[static_cast<std::size_t>(chunk)]) start_reduce(chunk);
  };
  for (std::int32_t chunk = 0; chunk < head; ++chunk) reduce(chunk);
  if (defers_wgrads()) actions_.push_back({.type = Action::Type::finish_wgrads});
  reduce(head);
  return std::exchange(actions_, {});
}

std::array<std::int64_t, Message::kNumKinds> count_buffers(const Schedule& schedule,
                                                           const std::vector<Action>& actions) {
  std::array<std::int64_t, Message::kNumKinds> held{}, most{};
  const auto take = [&](const Message& m) { most.at(m.kind()) = std::max(most.at(m.kind()), ++held.at(m.kind())); };
  const auto give_back = [&](const Message& m) { --held.at(m.kind()); };
  for (const Action& action : actions) {
    for (const Message& m : action.messages) {
      if (action.type == Action::Type::post && !m.is_send()) take(m);
      if (action.type != Action::Type::post && m.is_send()) give_back(m);
    }
    if (action.type != Action::Type::run) continue;
    if (schedule.has_output(action.pass)) take({Message::Type::send, action.pass});
    if (action.pass.direction == Direction::forward) continue;
    for (const Direction direction : {Direction::forward, Direction::backward}) {
      const Message read{Message::Type::receive, {direction, action.pass.chunk, action.pass.microbatch}};
      if (schedule.has_input(read.pass)) give_back(read);
    }
  }
  return most;
}

}  // namespace underlap::pp
