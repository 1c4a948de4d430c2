// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "impl/device/device.hpp"
#include "impl/device/rank_store.hpp"

namespace gloo {
namespace rendezvous {
class Store;
}
namespace transport {
class Device;
}
}  // namespace gloo

namespace underlap::host {

class Connection;

/// Connects the ranks of one process, or the one rank of this process to those of others: the TCP transport, its
/// connections, and the first failure of any rank of this process.
///
/// Connections are kept and shared by all cells of a run, which use them one after the other.
class Fabric {
 public:
  static constexpr const char* kLoopback = "127.0.0.1";

  /// `peer_timeout`: how long any wait for a peer may last.
  /// `store`: where ranks that are processes find each other; it outlives this. Null: all ranks are threads of this
  /// process.
  /// `address`: this machine's, by which the processes of the other ranks reach it.
  Fabric(std::int32_t world_size, std::chrono::milliseconds peer_timeout, RankStore* store = nullptr,
         const std::string& address = kLoopback);
  ~Fabric();
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;

  std::int32_t world_size() const { return world_size_; }
  std::chrono::milliseconds peer_timeout() const { return peer_timeout_; }

  /// Connects this member of `group` for the communicator number `index`; all members call it, each on its own thread.
  /// Throws PeerError naming the communicator and this rank if a member does not arrive in time.
  std::shared_ptr<Connection> connect(std::uint32_t index, std::string_view purpose, const Group& group);

  /// Takes down all ranks. The first failure is kept; what the others then see follows from it. Thread-safe.
  void fail(std::int32_t rank, const std::exception_ptr& error) noexcept;
  bool has_failed() const { return failed_.load(std::memory_order_acquire); }
  /// Throws the first failure, if any.
  void rethrow_failure() const;

  /// Registers `stop`, which is called at the first failure, or at once if one has happened; on any thread, and never
  /// after forget().
  void on_failure(const void* owner, std::function<void()> stop);
  void forget(const void* owner) noexcept;

  /// CPU time that the transport's own thread has used so far.
  std::int64_t transport_cpu_ns() const;

 private:
  using Key = std::pair<std::uint32_t, std::vector<std::int32_t>>;  // (communicator, own index and members)

  void meet(std::uint32_t index, std::string_view purpose, const Group& group);
  std::vector<std::int32_t> wait_for_threads(std::uint32_t index, const Group& group);
  std::vector<std::int32_t> wait_for_processes(std::uint32_t index, const Group& group) const;

  std::int32_t world_size_;
  std::chrono::milliseconds peer_timeout_;
  std::shared_ptr<gloo::transport::Device> device_;
  RankStore* rank_store_;
  std::shared_ptr<gloo::rendezvous::Store> store_;
  std::int64_t transport_thread_ = 0;  // kernel thread id of the transport's loop

  mutable std::mutex mutex_;
  std::condition_variable changed_;                // of present_ and failed_
  std::map<Key, std::set<std::int32_t>> present_;  // (communicator, members): the members that arrived to connect
  std::map<Key, std::shared_ptr<Connection>> connections_;
  std::map<const void*, std::function<void()>> listeners_;
  std::atomic<bool> failed_{false};
  std::exception_ptr first_failure_;
};

}  // namespace underlap::host
