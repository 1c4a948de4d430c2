// SPDX-License-Identifier: Apache-2.0
#include "impl/device/cuda/watchdog.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kernels/cuda/check.hpp"

namespace underlap::cuda {
namespace {

// An error of the device is no matter of peers: the rank's own thread meets it too, and can name the operation.
bool has_passed(const EventHandle& event) { return query(event.get()) == cudaSuccess; }

}  // namespace

Watchdog::Watchdog(const WatchdogOptions& options, std::function<std::optional<std::string>()> find_error,
                   std::function<void(const std::string&)> give_up)
    : options_(options), find_error_(std::move(find_error)), give_up_(std::move(give_up)) {
  if (options.poll_interval.count() > 0) thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

Watchdog::~Watchdog() = default;

std::size_t Watchdog::add(std::string purpose, const Group& group) {
  const std::lock_guard lock(mutex_);
  communicators_.push_back({.purpose = std::move(purpose), .members = group.members, .start = {}, .groups = {}});
  return communicators_.size() - 1;
}

EventHandle Watchdog::take_event() {
  {
    const std::lock_guard lock(mutex_);
    if (num_pauses_ > 0) return nullptr;
    if (!free_.empty()) {
      EventHandle event = std::move(free_.back());
      free_.pop_back();
      return event;
    }
  }
  return make_event();
}

// Not under the lock. After a stuck kernel the launch queue fills up, and then a record waits for that kernel, which
// poll() must end.
EventHandle Watchdog::record(CUstream_st* stream) {
  EventHandle event = take_event();
  if (event != nullptr) check(cudaEventRecord(event.get(), stream));
  return event;
}

void Watchdog::before(std::size_t communicator, CUstream_st* stream) {
  EventHandle event = record(stream);
  if (event == nullptr) return;
  const std::lock_guard lock(mutex_);
  communicators_[communicator].start = std::move(event);
}

void Watchdog::after(std::size_t communicator, CUstream_st* stream, Collective collective, std::uint64_t sequence) {
  EventHandle event = record(stream);
  const std::lock_guard lock(mutex_);
  Communicator& of = communicators_[communicator];
  if (event == nullptr || of.start == nullptr) return;
  of.groups.push_back({.collective = collective,
                       .sequence = sequence,
                       .start = std::move(of.start),
                       .end = std::move(event),
                       .started = {}});
}

void Watchdog::run(const std::stop_token& stop) {
  (void)cudaSetDevice(options_.device);
  while (!stop.stop_requested()) {
    poll(Clock::now());
    std::unique_lock lock(mutex_);
    stopped_.wait_for(lock, stop, options_.poll_interval, [] { return false; });
  }
}

void Watchdog::poll(Clock::time_point now) {
  {
    const std::lock_guard lock(mutex_);
    if (num_pauses_ > 0 || has_given_up_) return;
  }
  std::optional<Supervisor::Scope> looks;
  if (options_.supervisor != nullptr)
    looks.emplace(*options_.supervisor,
                  HostCall{.operation = "the watchdog's check of transfers", .limit = options_.timeout});
  std::optional<std::string> what = find_error_();
  {
    const std::lock_guard lock(mutex_);
    if (!what && num_pauses_ == 0) what = look(now);
    has_given_up_ = what.has_value();
  }
  if (what) give_up_(*what);
}

std::optional<std::string> Watchdog::look(Clock::time_point now) {
  for (Communicator& communicator : communicators_) {
    forget_finished(communicator);
    if (auto late = look_at_first(communicator, now)) return late;
  }
  return {};
}

// A stream finishes its groups in order, so the first that is not finished can be searched for by halves: a rank that
// is two steps ahead has hundreds in flight, and every question to CUDA takes time from the rank's own calls.
void Watchdog::forget_finished(Communicator& communicator) {
  auto& groups = communicator.groups;
  const auto unfinished = std::ranges::partition_point(groups, has_passed, &Watched::end);
  for (auto group = groups.begin(); group != unfinished; ++group) {
    free_.push_back(std::move(group->start));
    free_.push_back(std::move(group->end));
  }
  groups.erase(groups.begin(), unfinished);
}

std::optional<std::string> Watchdog::look_at_first(Communicator& communicator, Clock::time_point now) const {
  if (communicator.groups.empty()) return {};
  Watched& first = communicator.groups.front();
  if (!first.started) {
    if (has_passed(first.start)) first.started = now;
    return {};
  }
  if (now - *first.started <= options_.timeout) return {};
  return fmt::format(
      "rank {}: {} of communicator {} (ranks {}), sequence {}, has not finished {} ms after its start "
      "(run.peer_timeout_s): a peer did not arrive, or the link is stuck",
      options_.rank, to_string(first.collective), communicator.purpose, fmt::join(communicator.members, ", "),
      first.sequence, options_.timeout.count());
}

Watchdog::Pause::Pause(Watchdog& watchdog) : watchdog_(watchdog) {
  const std::lock_guard lock(watchdog_.mutex_);
  ++watchdog_.num_pauses_;
}

Watchdog::Pause::~Pause() {
  const std::lock_guard lock(watchdog_.mutex_);
  --watchdog_.num_pauses_;
}

}  // namespace underlap::cuda
