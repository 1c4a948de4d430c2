// SPDX-License-Identifier: Apache-2.0
#include "impl/pp/exchanges.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <string>
#include <utility>

#include "impl/plan/config.hpp"

namespace underlap::pp {
namespace {

// Message::kind().
constexpr std::size_t kReceiveForward = 0, kReceiveBackward = 1, kSendForward = 2, kSendBackward = 3;
constexpr std::array<const char*, Message::kNumKinds> kBuffers{"pp_input", "pp_d_output", "pp_output", "pp_d_input"};

// send_forward, send_forward_recv_backward, send_forward_backward_recv_forward_backward, ...
std::string purpose_of(std::size_t kinds) {
  std::string text;
  const auto add = [&](const char* verb, std::size_t first) {
    if ((kinds >> first & 3U) == 0) return;
    text += (text.empty() ? "" : "_") + std::string(verb);
    if (kinds >> first & 1U) text += "_forward";
    if (kinds >> first & 2U) text += "_backward";
  };
  add("send", 2);
  add("recv", 0);
  return text;
}

}  // namespace

Links::Links(const Context& context)
    : stage_(context.group.my_index),
      num_stages_(context.group.size()),
      is_batched_(context.config->pipeline.batch_p2p_comm) {
  const CommunicatorHints hints{.priority = nccl_priority(*context.config)};
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
  const std::int32_t neighbor = (stage_ + (is_with_next ? 1 : num_stages_ - 1)) % num_stages_;
  const std::int32_t peer = is_batched_ ? neighbor : (message.is_send() ? 1 : 0);
  return message.is_send() ? send_to(peer, view) : receive_from(peer, view);
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

Exchanges::Exchanges(const Context& context, const std::array<std::int64_t, Message::kNumKinds>& num_buffers)
    : device_(*context.device), compute_(context.compute), links_(context) {
  if (context.config->extensions.scatter_gather_tensors_in_pipeline) parts_.emplace(context);
  for (std::size_t kinds = 1; kinds < purposes_.size(); ++kinds) purposes_.at(kinds) = intern(purpose_of(kinds));
  for (std::size_t kind = 0; kind < Message::kNumKinds; ++kind)
    for (std::int64_t i = 0; i < num_buffers.at(kind); ++i)
      pools_.at(kind).free.push_back(
          {.view = allocate_matrix(device_, kBuffers.at(kind), DataType::bf16, context.rows, context.cols),
           .read = {},
           .call = {},
           .gather = {}});
}

void Exchanges::begin_step(std::int32_t step) {
  step_ = step;
  ++order_;
}

Exchanges::Moment Exchanges::now() { return {device_.record(compute_), order_}; }

Exchanges::Held& Exchanges::take(const Message& message) {
  Pool& pool = pools_.at(message.kind());
  assert(!pool.free.empty());
  pool.held.push_back({message.pass, pool.free.front()});
  pool.free.erase(pool.free.begin());
  return pool.held.back();
}

Exchanges::Held& Exchanges::held(const Message& message) {
  auto& all = pools_.at(message.kind()).held;
  const auto found = std::find_if(all.begin(), all.end(), [&](const Held& h) { return h.pass == message.pass; });
  assert(found != all.end());
  return *found;
}

void Exchanges::give_back(const Message& message) {
  Pool& pool = pools_.at(message.kind());
  Held& gone = held(message);
  pool.free.push_back(gone.buffer);
  pool.held.erase(pool.held.begin() + (&gone - pool.held.data()));
}

View Exchanges::begin_write(const Pass& pass) {
  const Buffer& buffer = take({Message::Type::send, pass}).buffer;
  await(buffer.call);
  device_.acquire(compute_, buffer.view);
  ++order_;
  return buffer.view;
}

View Exchanges::received(const Pass& pass) {
  const Buffer& buffer = held({Message::Type::receive, pass}).buffer;
  if (!parts_) {
    assert(buffer.call.number <= lanes_.at(buffer.call.lane).awaited);
  } else if (buffer.gather.number > gathers_awaited_) {
    device_.wait(compute_, buffer.gather.done);
    gathers_awaited_ = buffer.gather.number;
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane)
      lanes_.at(lane).awaited = std::max(lanes_.at(lane).awaited, buffer.gather.behind.at(lane));
    ++order_;
  }
  return buffer.view;
}

void Exchanges::end_read(const Pass& pass) {
  const Message message{Message::Type::receive, pass};
  Buffer& buffer = held(message).buffer;
  device_.release(compute_, buffer.view);
  ++order_;
  buffer.read = now();
  give_back(message);
}

void Exchanges::post(std::vector<Message> messages) {
  messages = links_.in_order(std::move(messages));
  if (links_.is_batched()) return start(messages);
  for (const Message& message : messages) start({&message, 1});
}

void Exchanges::start(std::span<const Message> group) {
  const std::size_t number = lane_of(group.front());
  const Communicator& link = links_.of(group.front());
  Lane& lane = lanes_.at(number);
  Moment needed;
  for (const Message& message : group) {
    const Moment used = message.is_send() ? now() : take(message).buffer.read;
    if (used.order > needed.order) needed = used;
  }
  follow(lane, link.stream, needed);
  std::vector<Transfer> transfers;
  for (const Message& message : group) {
    const View& view = held(message).buffer.view;
    if (!message.is_send()) device_.acquire(link.stream, view);
    transfers.push_back(links_.transfer(message, parts_ ? parts_->part(view) : view));
  }
  device_.communicate(link, tag(group), transfers);
  for (const Message& message : group)
    if (message.is_send()) device_.release(link.stream, held(message).buffer.view);
  const Call call{number, ++lane.num_calls, device_.record(link.stream)};
  for (const Message& message : group) {
    held(message).buffer.call = call;
    held(message).buffer.gather = {};
  }
}

void Exchanges::follow(Lane& lane, Stream stream, const Moment& needed) {
  if (needed.order > lane.follows) {
    device_.wait(stream, needed.event);
    lane.follows = needed.order;
    lane.throttled_to = std::max(lane.throttled_to, needed.order);
  }
  if (order_ <= lane.throttled_to) return;
  device_.throttle(stream, now().event);
  lane.throttled_to = order_;
}

void Exchanges::await(const Call& call) {
  Lane& lane = lanes_.at(call.lane);
  if (call.number <= lane.awaited) return;
  device_.wait(compute_, call.done);
  lane.awaited = call.number;
  ++order_;
}

// Only the next writer of the buffer depends on a send, and it waits for it. So compute is only throttled here.
void Exchanges::await(const Message& message) {
  Buffer& buffer = held(message).buffer;
  const Call call = buffer.call;
  if (!message.is_send()) return parts_ ? gather(message, buffer) : await(call);
  release(message);
  if (call.number <= lanes_.at(call.lane).awaited) return;
  device_.throttle(compute_, call.done);
  ++order_;
}

// Results depend on the gather only where compute reads them: two gathers after one exchange need one wait.
void Exchanges::gather(const Message& message, Buffer& buffer) {
  if (buffer.gather.number > 0) return;  // awaited before
  const Stream stream = parts_->stream();
  if (std::uint64_t& gathered = gathered_.at(buffer.call.lane); buffer.call.number > gathered) {
    device_.wait(stream, buffer.call.done);
    gathered = buffer.call.number;
  }
  device_.throttle(stream, now().event);
  buffer.gather = {++num_gathers_, parts_->gather(message, buffer.view, step_), gathered_};
  device_.throttle(compute_, buffer.gather.done);
  ++order_;
}

void Exchanges::release(const Message& message) {
  assert(message.is_send());
  give_back(message);
}

void Exchanges::synchronize() {
  device_.synchronize();
  device_.host_work(HostWork::synchronize);
  for (Lane& lane : lanes_) {
    lane.follows = lane.throttled_to = order_;
    lane.awaited = lane.num_calls;
  }
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) gathered_.at(lane) = lanes_.at(lane).num_calls;
  gathers_awaited_ = num_gathers_;
}

Tag Exchanges::tag(std::span<const Message> group) const {
  std::size_t kinds = 0;
  bool is_one_way = true;
  for (const Message& message : group) {
    kinds |= std::size_t{1} << message.kind();
    is_one_way = is_one_way && message.is_forward() == group.front().is_forward();
  }
  const Pass& pass = group.front().pass;
  return {.kind = Kind::communication,
          .mode = Mode::pp,
          .direction = is_one_way ? pass.direction : Direction::none,
          .purpose = purposes_.at(kinds),
          .microbatch = static_cast<std::int32_t>(pass.microbatch),
          .chunk = pass.chunk,
          .step = step_};
}

}  // namespace underlap::pp
