// SPDX-License-Identifier: Apache-2.0
#include "impl/device/cuda/supervisor.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

namespace underlap::cuda {
namespace {

std::string in_words(const HostCall& call) {
  std::string text(call.operation);
  if (!call.communicator.empty())
    text += fmt::format(" of communicator {} (ranks {})", call.communicator, fmt::join(call.ranks, ", "));
  if (call.sequence) text += fmt::format(", sequence {}", *call.sequence);
  return text;
}

}  // namespace

Supervisor::Supervisor(const SupervisorOptions& options, std::function<void(const std::string&)> report,
                       std::function<void(const std::string&)> end_process)
    : options_(options), report_(std::move(report)), end_process_(std::move(end_process)) {
  if (options.look_interval.count() > 0) thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

Supervisor::Scope::Scope(Supervisor& supervisor, const HostCall& call)
    : supervisor_(supervisor), call_(call), since_(Clock::now()) {
  const std::lock_guard lock(supervisor_.mutex_);
  supervisor_.calls_.push_back(this);
}

Supervisor::Scope::~Scope() {
  const std::lock_guard lock(supervisor_.mutex_);
  std::erase(supervisor_.calls_, this);
}

void Supervisor::expect_end(const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (!failure_) failure_ = why;
}

std::optional<std::string> Supervisor::late() {
  const std::lock_guard lock(mutex_);
  return late_;
}

void Supervisor::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    look(Clock::now());
    std::unique_lock lock(mutex_);
    stopped_.wait_for(lock, stop, options_.look_interval, [] { return false; });
  }
}

void Supervisor::look(Clock::time_point now) {
  std::optional<std::string> late;
  std::optional<std::string> ends_by;
  {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = late_ = late = find_late(now);
    if (failure_ && !failed_since_) failed_since_ = now;
    if (failed_since_ && now - *failed_since_ > options_.grace && !std::exchange(has_ended_, true)) ends_by = failure_;
  }
  if (late) report_(*late);
  if (ends_by) end_process_(*ends_by);
}

// The last to begin: of calls that lie in each other it is the one that hangs.
std::optional<std::string> Supervisor::find_late(Clock::time_point now) const {
  for (auto scope = calls_.rbegin(); scope != calls_.rend(); ++scope) {
    const HostCall& call = (*scope)->call_;
    if (now - (*scope)->since_ > call.limit + options_.slack)
      return fmt::format(
          "rank {}: {} has blocked the host for more than {} ms (run.peer_timeout_s): a peer did not arrive, or the "
          "driver hangs",
          options_.rank, in_words(call), call.limit.count());
  }
  return {};
}

}  // namespace underlap::cuda
