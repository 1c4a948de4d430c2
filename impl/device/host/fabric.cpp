// SPDX-License-Identifier: Apache-2.0
#include "impl/device/host/fabric.hpp"

#include <fmt/format.h>
#include <gloo/common/error.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/hash_store.h>
#include <gloo/rendezvous/prefix_store.h>
#include <gloo/transport/tcp/device.h>
#include <signal.h>
#include <time.h>

#include <algorithm>
#include <filesystem>
#include <new>
#include <optional>
#include <stdexcept>

#include "impl/device/host/connection.hpp"
#include "impl/device/host/thread_priority.hpp"
#include "platform/errors.hpp"
#include "platform/memory_room.hpp"

namespace underlap::host {
namespace {

std::set<std::int64_t> thread_ids() {
  std::set<std::int64_t> ids;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task"))
    ids.insert(std::stoll(entry.path().filename().string()));
  return ids;
}

// The clock of another thread's CPU time, as the kernel encodes it; glibc names it only for its own threads.
clockid_t cpu_clock_of(std::int64_t thread_id) { return static_cast<clockid_t>((~thread_id << 3) | 6); }

/// Adapts a RankStore to the interface of the transport.
class GlooStore final : public gloo::rendezvous::Store {
 public:
  GlooStore(RankStore& store, std::chrono::milliseconds timeout) : store_(store), timeout_(timeout) {}

  void set(const std::string& key, const std::vector<char>& data) override {
    store_.put(key, {data.data(), data.size()});
  }
  std::vector<char> get(const std::string& key) override {
    const std::string value = all_of({key}, timeout_).front().value();
    return {value.begin(), value.end()};
  }
  void wait(const std::vector<std::string>& keys) override { all_of(keys, timeout_); }
  void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& timeout) override {
    all_of(keys, timeout);
  }

 private:
  std::vector<std::optional<std::string>> all_of(const std::vector<std::string>& keys,
                                                 std::chrono::milliseconds timeout) {
    std::vector<std::optional<std::string>> values = store_.get(keys, timeout);
    if (!std::ranges::all_of(values, [](const auto& value) { return value.has_value(); }))
      throw PeerError(fmt::format("no address received within {} ms", timeout.count()));
    return values;
  }

  RankStore& store_;
  std::chrono::milliseconds timeout_;
};

std::shared_ptr<gloo::rendezvous::Store> make_store(RankStore* store, std::chrono::milliseconds timeout) {
  if (store == nullptr) return std::make_shared<gloo::rendezvous::HashStore>();
  return std::make_shared<GlooStore>(*store, timeout);
}

// The key that marks the arrival of member `i` of a communicator's group.
std::string sign_of(std::uint32_t index, const Group& group, std::int32_t i) {
  return fmt::format("here-{}-{:016x}-{}", index,
                     std::hash<std::string>()(fmt::format("{}", fmt::join(group.members, ","))), i);
}

std::vector<std::int32_t> ranks_of(const Group& group, const auto& is_missing) {
  std::vector<std::int32_t> missing;
  for (std::int32_t i = 0; i < group.size(); ++i)
    if (is_missing(i)) missing.push_back(group.members[static_cast<std::size_t>(i)]);
  return missing;
}

}  // namespace

Fabric::Fabric(std::int32_t world_size, std::chrono::milliseconds peer_timeout, RankStore* store,
               const std::string& address)
    : world_size_(world_size),
      peer_timeout_(peer_timeout),
      rank_store_(store),
      store_(make_store(store, peer_timeout)) {
  const std::set<std::int64_t> before = thread_ids();
  // The transport's thread takes over the signals that are blocked here.
  sigset_t signals;
  pthread_sigmask(SIG_BLOCK, nullptr, &signals);
  block_broken_pipe_signal();
  try {
    device_ = gloo::transport::tcp::CreateDevice(gloo::transport::tcp::attr(address.c_str()));
  } catch (const std::exception& error) {
    throw MachineError(fmt::format("cannot open the TCP transport on address {}: {}", address, error.what()));
  }
  pthread_sigmask(SIG_SETMASK, &signals, nullptr);
  for (const std::int64_t id : thread_ids())
    if (!before.contains(id)) transport_thread_ = id;
  if (transport_thread_ != 0) prefer_on_wake_up(transport_thread_);
}

Fabric::~Fabric() = default;

std::shared_ptr<Connection> Fabric::connect(std::uint32_t index, std::string_view purpose, const Group& group) {
  Key key{index, group.members};
  key.second.push_back(group.my_index);
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = connections_.find(key); found != connections_.end()) return found->second;
  }
  meet(index, purpose, group);
  std::shared_ptr<gloo::rendezvous::Context> context;
  if (group.size() > 1) {
    context = std::make_shared<gloo::rendezvous::Context>(group.my_index, group.size());
    context->setTimeout(peer_timeout_);
    gloo::rendezvous::PrefixStore store(fmt::format("{}/{}", index, fmt::join(group.members, ",")), *store_);
    try {
      context->connectFullMesh(store, device_);
    } catch (const std::exception& error) {
      throw PeerError(fmt::format("rank {}: cannot connect communicator {} ({}): {}",
                                  group.members[static_cast<std::size_t>(group.my_index)], index, purpose,
                                  error.what()));
    }
  }
  auto connection = std::make_shared<Connection>(std::move(context), group, peer_timeout_);
  const std::lock_guard lock(mutex_);
  connections_.emplace(std::move(key), connection);
  if (has_failed()) connection->abort();
  return connection;
}

// The transport connects pair by pair, and each pair waits for itself. So all members meet first, with one deadline. A
// failure then wakes all of them, and the missing members are known.
void Fabric::meet(std::uint32_t index, std::string_view purpose, const Group& group) {
  const std::vector<std::int32_t> missing =
      rank_store_ == nullptr ? wait_for_threads(index, group) : wait_for_processes(index, group);
  const std::int32_t me = group.members[static_cast<std::size_t>(group.my_index)];
  if (has_failed())
    throw PeerError(fmt::format("rank {}: communicator {} ({}) is aborted because a rank failed", me, index, purpose));
  if (missing.empty()) return;
  throw PeerError(fmt::format("rank {}: communicator {} ({}) waited {} ms for rank {} (run.peer_timeout_s)", me, index,
                              purpose, peer_timeout_.count(), fmt::join(missing, ", ")));
}

std::vector<std::int32_t> Fabric::wait_for_threads(std::uint32_t index, const Group& group) {
  std::unique_lock lock(mutex_);
  std::set<std::int32_t>& present = present_[{index, group.members}];
  present.insert(group.my_index);
  changed_.notify_all();
  changed_.wait_for(lock, peer_timeout_,
                    [&] { return has_failed() || static_cast<std::int32_t>(present.size()) == group.size(); });
  return ranks_of(group, [&](std::int32_t i) { return !present.contains(i); });
}

std::vector<std::int32_t> Fabric::wait_for_processes(std::uint32_t index, const Group& group) const {
  rank_store_->put(sign_of(index, group, group.my_index), "");
  std::vector<std::string> signs;
  for (std::int32_t i = 0; i < group.size(); ++i) signs.push_back(sign_of(index, group, i));
  const auto has_come = rank_store_->get(signs, peer_timeout_);
  return ranks_of(group, [&](std::int32_t i) { return !has_come[static_cast<std::size_t>(i)]; });
}

void Fabric::fail(std::int32_t rank, const std::exception_ptr& error) noexcept {
  const std::lock_guard lock(mutex_);
  if (failed_.load(std::memory_order_relaxed)) return;
  try {
    std::rethrow_exception(error);
  } catch (const MachineError&) {
    first_failure_ = error;
  } catch (const std::invalid_argument& wrong) {
    first_failure_ = std::make_exception_ptr(std::invalid_argument(fmt::format("rank {}: {}", rank, wrong.what())));
  } catch (const std::bad_alloc&) {
    first_failure_ =
        std::make_exception_ptr(MachineError(fmt::format("rank {}: {}", rank, out_of_memory("it worked"))));
  } catch (const std::exception& other) {
    first_failure_ = std::make_exception_ptr(MachineError(fmt::format("rank {}: {}", rank, other.what())));
  } catch (...) {
    first_failure_ = error;
  }
  failed_.store(true, std::memory_order_release);
  changed_.notify_all();
  for (const auto& [key, connection] : connections_) connection->abort();
  for (const auto& [owner, stop] : listeners_) stop();
}

void Fabric::on_failure(const void* owner, std::function<void()> stop) {
  const std::lock_guard lock(mutex_);
  if (has_failed()) stop();
  listeners_.emplace(owner, std::move(stop));
}

void Fabric::forget(const void* owner) noexcept {
  const std::lock_guard lock(mutex_);
  listeners_.erase(owner);
}

void Fabric::rethrow_failure() const {
  if (!has_failed()) return;
  const std::lock_guard lock(mutex_);
  std::rethrow_exception(first_failure_);
}

std::int64_t Fabric::transport_cpu_ns() const {
  timespec time{};
  if (transport_thread_ == 0 || clock_gettime(cpu_clock_of(transport_thread_), &time) != 0) return 0;
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

}  // namespace underlap::host
