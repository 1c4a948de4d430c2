// SPDX-License-Identifier: Apache-2.0
#include "impl/device/cuda/peer_copies/host_mailbox.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "platform/errors.hpp"

namespace underlap::cuda {
namespace {

constexpr std::uint64_t kLandingsAhead = 256;  // landings posted and not yet taken, at most
constexpr std::size_t kNameBytes = 64;
constexpr int kBusyLooks = 1000;
constexpr std::chrono::microseconds kLook{20};

using Name = std::array<char, kNameBytes>;

[[noreturn]] void fail(const std::string& what) {
  throw MachineError(fmt::format("{}: {}; ranks of one node share memory in /dev/shm", what, std::strerror(errno)));
}

/// A named piece of shared memory, as long as its name exists.
class NamedMemory {
 public:
  NamedMemory(const Name& name, bool creates) : name_(name), owns_(creates) {
    const int flags = O_RDWR | (creates ? O_CREAT | O_EXCL : 0);
    descriptor_ = shm_open(name.data(), flags, 0600);
    if (descriptor_ < 0)
      fail(fmt::format("shared memory {} cannot be {}", name.data(), creates ? "created" : "opened"));
  }
  ~NamedMemory() {
    close(descriptor_);
    if (owns_) shm_unlink(name_.data());
  }
  NamedMemory(const NamedMemory&) = delete;
  NamedMemory& operator=(const NamedMemory&) = delete;

  void* map(std::size_t bytes) const {
    if (owns_ && ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0)
      fail(fmt::format("cannot allocate {} bytes of shared memory", bytes));
    void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
    if (memory == MAP_FAILED) fail(fmt::format("cannot map {} bytes of shared memory", bytes));
    return memory;
  }

 private:
  Name name_;
  bool owns_;
  int descriptor_ = -1;
};

Name new_name() {
  static std::atomic<std::uint64_t> unique{0};
  Name name{};
  fmt::format_to_n(name.data(), name.size() - 1, "/underlap.{}.{}", getpid(), unique++);
  return name;
}

}  // namespace

std::string exchange_in_words(std::string_view purpose, const Group& group, std::uint64_t sequence) {
  return fmt::format("of communicator {} (ranks {}), sequence {}", purpose, fmt::join(group.members, ", "), sequence);
}

/// From one sender to one receiver; written by the receiver's host. Zero bytes are an empty lane.
struct HostMailbox::Lane {
  std::atomic<std::uint64_t> num_posted;
  std::atomic<std::uint64_t> num_taken;
  std::array<Landing, kLandingsAhead> landings;
};

struct HostMailbox::Shared {
  std::atomic<std::int32_t> num_left;
  Lane lanes[1];  // size * size of them
};

void HostMailbox::Unmap::operator()(Shared* shared) const noexcept { munmap(shared, bytes); }

HostMailbox::HostMailbox(ControlPlane& control, std::string_view purpose, const Group& group, Waiting waiting)
    : purpose_(purpose), group_(group), waiting_(std::move(waiting)) {
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "the lanes are shared by processes");
  const auto n = static_cast<std::size_t>(group.size());
  const std::size_t bytes = sizeof(Shared) + (n * n - 1) * sizeof(Lane);
  Name name = new_name();
  const bool is_first = group.my_index == 0;
  std::unique_ptr<NamedMemory> memory;
  if (is_first) {
    memory = std::make_unique<NamedMemory>(name, true);
    shared_ = {static_cast<Shared*>(memory->map(bytes)), Unmap{bytes}};
  }
  control.broadcast(purpose_ + ": name of shared memory", group, std::as_writable_bytes(std::span(name)));
  if (!is_first) {
    memory = std::make_unique<NamedMemory>(name, false);
    shared_ = {static_cast<Shared*>(memory->map(bytes)), Unmap{bytes}};
  }
  std::array<std::byte, 1> nothing{};
  control.broadcast(purpose_ + ": shared memory", group, nothing);  // all have mapped it: the name may go
}

HostMailbox::~HostMailbox() = default;

std::int32_t HostMailbox::rank_of(std::int32_t member) const {
  return group_.members[static_cast<std::size_t>(member)];
}

HostMailbox::Lane& HostMailbox::lane(std::int32_t sender, std::int32_t receiver) const {
  return shared_->lanes[sender * group_.size() + receiver];
}

template <class Condition>
void HostMailbox::wait(Condition condition, std::string_view side, std::int32_t peer, std::uint64_t sequence) const {
  for (int look = 0; look < kBusyLooks; ++look)
    if (condition()) return;
  const auto end = std::chrono::steady_clock::now() + waiting_.timeout;
  while (!condition()) {
    waiting_.rethrow_failure();
    if (std::chrono::steady_clock::now() > end)
      throw MachineError(fmt::format(
          "rank {}: {} {}, waited {} ms for the host of rank {} to enqueue the other side (run.peer_timeout_s)",
          rank_of(group_.my_index), side, exchange_in_words(purpose_, group_, sequence), waiting_.timeout.count(),
          rank_of(peer)));
    std::this_thread::sleep_for(kLook);
  }
}

void HostMailbox::post(std::int32_t sender, const Landing& landing, std::uint64_t sequence) {
  Lane& to = lane(sender, group_.my_index);
  const std::uint64_t number = to.num_posted.load(std::memory_order_relaxed);
  wait([&] { return number - to.num_taken.load(std::memory_order_acquire) < kLandingsAhead; }, "receive", sender,
       sequence);
  to.landings[number % kLandingsAhead] = landing;
  to.num_posted.store(number + 1, std::memory_order_release);
}

Landing HostMailbox::take(std::int32_t receiver, std::uint64_t sequence) {
  Lane& from = lane(group_.my_index, receiver);
  const std::uint64_t number = from.num_taken.load(std::memory_order_relaxed);
  wait([&] { return from.num_posted.load(std::memory_order_acquire) > number; }, "send", receiver, sequence);
  const Landing landing = from.landings[number % kLandingsAhead];
  from.num_taken.store(number + 1, std::memory_order_release);
  return landing;
}

void HostMailbox::leave() { shared_->num_left.fetch_add(1, std::memory_order_acq_rel); }

void HostMailbox::wait_until_all_left() noexcept {
  try {
    wait([&] { return shared_->num_left.load(std::memory_order_acquire) >= group_.size(); }, "", group_.my_index, 0);
  } catch (const MachineError&) {
    // A late rank has failed, and reports the failure itself.
  }
}

}  // namespace underlap::cuda
