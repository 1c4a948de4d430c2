// SPDX-License-Identifier: Apache-2.0
#include "impl/device/host/connection.hpp"

#include <fmt/format.h>
#include <gloo/common/error.h>
#include <gloo/rendezvous/context.h>
#include <gloo/transport/unbound_buffer.h>
#include <signal.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "platform/errors.hpp"

namespace underlap::host {

void block_broken_pipe_signal() noexcept {
  sigset_t broken_pipe;
  sigemptyset(&broken_pipe);
  sigaddset(&broken_pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &broken_pipe, nullptr);
}

Connection::Connection(std::shared_ptr<gloo::rendezvous::Context> context, Group group,
                       std::chrono::milliseconds peer_timeout)
    : context_(std::move(context)),
      group_(std::move(group)),
      peer_timeout_(peer_timeout),
      num_sent_(group_.members.size()),
      num_received_(group_.members.size()) {}

Connection::~Connection() = default;

void Connection::abort() noexcept {
  const std::lock_guard lock(mutex_);
  aborted_ = true;
  for (gloo::transport::UnboundBuffer* buffer : watched_) {
    buffer->abortWaitRecv();
    buffer->abortWaitSend();
  }
}

void Connection::close() noexcept {
  try {
    context_->closeConnections();
  } catch (const std::exception&) {
    // It is given up because something failed already, and that is what is reported.
  }
}

void Connection::watch(gloo::transport::UnboundBuffer* buffer) {
  const std::lock_guard lock(mutex_);
  watched_.push_back(buffer);
  if (!aborted_) return;
  buffer->abortWaitRecv();
  buffer->abortWaitSend();
}

void Connection::unwatch(gloo::transport::UnboundBuffer* buffer) noexcept {
  const std::lock_guard lock(mutex_);
  watched_.erase(std::remove(watched_.begin(), watched_.end(), buffer), watched_.end());
}

std::string Connection::describe(const CommunicationId& id, std::int32_t peer) const {
  return fmt::format("rank {}: {} ({}, sequence {}) with rank {}",
                     group_.members[static_cast<std::size_t>(group_.my_index)], name_of(id.purpose),
                     to_string(id.collective), id.sequence, group_.members[static_cast<std::size_t>(peer)]);
}

Connection::Exchange::Exchange(Connection& connection, const CommunicationId& id) : connection_(connection), id_(id) {}

Connection::Exchange::~Exchange() {
  if (messages_.empty()) return;
  for (const Message& message : messages_) connection_.unwatch(message.buffer.get());
  connection_.close();
}

void Connection::Exchange::send(std::int32_t peer, std::span<const std::byte> bytes) {
  // The transport takes one pointer type for both directions; it only reads what is sent.
  auto buffer = connection_.context_->createUnboundBuffer(const_cast<std::byte*>(bytes.data()), bytes.size());
  connection_.watch(buffer.get());
  messages_.push_back({std::move(buffer), peer, true});
  try {
    messages_.back().buffer->send(peer, connection_.num_sent_[static_cast<std::size_t>(peer)]++, 0, bytes.size());
  } catch (const gloo::Exception& error) {
    throw PeerError(connection_.describe(id_, peer) + ": connection lost: " + error.what());
  }
  bytes_sent_ += static_cast<std::int64_t>(bytes.size());
}

void Connection::Exchange::receive(std::int32_t peer, std::span<std::byte> bytes) {
  auto buffer = connection_.context_->createUnboundBuffer(bytes.data(), bytes.size());
  connection_.watch(buffer.get());
  messages_.push_back({std::move(buffer), peer, false});
  try {
    messages_.back().buffer->recv(peer, connection_.num_received_[static_cast<std::size_t>(peer)]++, 0, bytes.size());
  } catch (const gloo::Exception& error) {
    throw PeerError(connection_.describe(id_, peer) + ": connection lost: " + error.what());
  }
  bytes_received_ += static_cast<std::int64_t>(bytes.size());
}

void Connection::Exchange::wait() {
  const auto deadline = std::chrono::steady_clock::now() + connection_.peer_timeout_;
  for (const Message& message : messages_) wait(message, deadline);
  for (const Message& message : messages_) connection_.unwatch(message.buffer.get());
  messages_.clear();
}

void Connection::Exchange::wait(const Message& message, std::chrono::steady_clock::time_point deadline) {
  // Rounded up: a transport that gives up has then given up at the deadline. Zero would mean its own timeout.
  const auto left = std::max(std::chrono::milliseconds(1),
                             std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()));
  bool completed = false;
  try {
    completed = message.is_send ? message.buffer->waitSend(left) : message.buffer->waitRecv(left);
  } catch (const gloo::Exception& error) {
    const std::string what = connection_.describe(id_, message.peer);
    if (std::chrono::steady_clock::now() >= deadline)
      throw PeerError(fmt::format("{}: the peer did not answer within {} ms (run.peer_timeout_s)", what,
                                  connection_.peer_timeout_.count()));
    throw PeerError(fmt::format("{}: connection lost: {}", what, error.what()));
  }
  if (!completed) throw PeerError(connection_.describe(id_, message.peer) + ": aborted because a rank failed");
}

}  // namespace underlap::host
