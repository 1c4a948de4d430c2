// SPDX-License-Identifier: Apache-2.0
#include "impl/pp/script.hpp"

#include <algorithm>
#include <utility>

#include "impl/plan/config.hpp"

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
  reduce_aligned(k);
}

void Script::dgrad(std::int64_t k) {
  actions_.push_back({.type = Action::Type::dgrad, .pass = schedule_.pass(Direction::backward, k)});
}

void Script::wgrad(std::int64_t k) {
  actions_.push_back({.type = Action::Type::wgrad, .pass = schedule_.pass(Direction::backward, k)});
  reduce_aligned(k);
}

void Script::reduce_aligned(std::int64_t k) {
  const auto chunk = schedule_.reduce_after_backward(k);
  // Megatron's order does not account for deferred gradients: the chunk of a deferred head is reduced at the end.
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

void Script::exchange(std::initializer_list<std::optional<Message>> messages,
                      const std::function<void()>& concurrent_work) {
  const std::size_t before = actions_.size();
  post(messages);
  const bool is_empty = actions_.size() == before;
  if (concurrent_work) concurrent_work();
  if (is_empty) return;
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

void Script::finish() {
  const std::int32_t head = schedule_.num_chunks() - 1;
  const auto reduce = [&](std::int32_t chunk) {
    if (aligns_reduces_ && !is_reduced_[static_cast<std::size_t>(chunk)]) start_reduce(chunk);
  };
  for (std::int32_t chunk = 0; chunk < head; ++chunk) reduce(chunk);
  if (defers_wgrads()) actions_.push_back({.type = Action::Type::finish_wgrads});
  reduce(head);
}

std::vector<Message> last_reads(const Schedule& schedule, const Action& action) {
  using enum Action::Type;
  const Pass& pass = action.pass;
  const bool is_whole = action.type == run && pass.direction == Direction::backward;
  std::vector<Message> reads;
  const auto add = [&](Direction direction) {
    const Message read{Message::Type::receive, {direction, pass.chunk, pass.microbatch}};
    if (schedule.has_input(read.pass)) reads.push_back(read);
  };
  if (is_whole || action.type == dgrad) add(Direction::forward);
  if (is_whole || action.type == wgrad) add(Direction::backward);
  return reads;
}

std::array<std::int64_t, Message::kNumKinds> count_buffers(const Script& script) {
  const Schedule& schedule = script.schedule();
  std::array<std::int64_t, Message::kNumKinds> held{}, most{};
  const auto take = [&](const Message& m) { most.at(m.kind()) = std::max(most.at(m.kind()), ++held.at(m.kind())); };
  const auto give_back = [&](const Message& m) { --held.at(m.kind()); };
  for (const Action& action : script.actions()) {
    for (const Message& m : action.messages) {
      if (action.type == Action::Type::post && !m.is_send()) take(m);
      if (action.type != Action::Type::post && m.is_send()) give_back(m);
    }
    const bool writes = action.type == Action::Type::run || action.type == Action::Type::dgrad;
    if (writes && schedule.has_output(action.pass)) take({Message::Type::send, action.pass});
    for (const Message& read : last_reads(schedule, action)) give_back(read);
  }
  return most;
}

plan::InFlight count_in_flight(const Script& script, std::int32_t chunk) {
  plan::InFlight now, most;
  for (const Action& action : script.actions()) {
    if (action.pass.chunk != chunk) continue;
    using enum Action::Type;
    const bool is_run = action.type == run, is_forward = action.pass.direction == Direction::forward;
    now.activations += is_run && is_forward ? 1 : 0;
    now.gradients += action.type == dgrad ? 1 : 0;
    most = {std::max(most.activations, now.activations), std::max(most.gradients, now.gradients)};
    now.activations -= (is_run && !is_forward) || action.type == wgrad ? 1 : 0;
    now.gradients -= action.type == wgrad ? 1 : 0;
  }
  return most;
}

}  // namespace underlap::pp
