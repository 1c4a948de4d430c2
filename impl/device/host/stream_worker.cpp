// SPDX-License-Identifier: Apache-2.0
#include "impl/device/host/stream_worker.hpp"

#include <algorithm>
#include <utility>

namespace underlap::host {

StreamWorker::StreamWorker(std::uint32_t id, Execute execute, std::function<void(std::exception_ptr)> fail)
    : id_(id), execute_(std::move(execute)), fail_(std::move(fail)), thread_([this] { run(); }) {}

StreamWorker::~StreamWorker() { close(); }

void StreamWorker::close() noexcept {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  queue_changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void StreamWorker::enqueue(Command command) {
  ++num_enqueued_;
  bool was_empty = false;
  {
    const std::lock_guard lock(mutex_);
    was_empty = queue_.empty();
    queue_.push_back(std::move(command));
  }
  if (was_empty) queue_changed_.notify_one();
}

bool StreamWorker::wait_for(std::uint64_t position) {
  std::unique_lock lock(mutex_);
  while (num_done_ < position && !stopped_) {
    next_wanted_ = std::min(next_wanted_, position);
    progressed_.wait(lock);
  }
  return num_done_ >= position;
}

void StreamWorker::stop() noexcept {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  progressed_.notify_all();
}

void StreamWorker::run() {
  std::vector<Command> batch;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      queue_changed_.wait(lock, [this] { return !queue_.empty() || closing_; });
      if (queue_.empty()) return;
      batch.swap(queue_);
    }
    for (Command& command : batch) {
      try {
        if (!stopped_.load(std::memory_order_acquire)) execute_(command);
      } catch (...) {
        fail_(std::current_exception());
      }
      const std::lock_guard lock(mutex_);
      if (++num_done_ < next_wanted_) continue;
      next_wanted_ = kNobodyWaits;  // threads that wait for a later position set it again
      progressed_.notify_all();
    }
    batch.clear();
  }
}

}  // namespace underlap::host
