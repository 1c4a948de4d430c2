// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda_host/machine.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>

namespace underlap::cuda_host {

namespace {

std::int64_t steady_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

Machine& Machine::instance() {
  static Machine machine;
  return machine;
}

void Machine::reset(int num_devices, std::uint64_t seed) {
  const std::lock_guard lock(mutex_);
  num_devices_ = num_devices;
  driver_ = CUDART_VERSION;
  random_.seed(seed);
  failed_ = false;
  what_.clear();
  calls.clear();
  gone_.clear();
  for (const auto& [memory, bytes] : memory_) std::free(memory);  // of those who failed before they could give it back
  memory_.clear();
  memory_taken_ = 0;
  memory_bytes_ = std::size_t{4} << 30;
}

void* Machine::take_memory(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes > memory_bytes_ - std::min(memory_taken_, memory_bytes_)) return nullptr;
  void* const memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  std::memset(memory, 0xFF, bytes);
  memory_[memory] = bytes;
  memory_taken_ += bytes;
  return memory;
}

void Machine::give_memory(void* memory) {
  const auto found = memory_.find(memory);
  if (found == memory_.end()) return;
  memory_taken_ -= found->second;
  memory_.erase(found);
  std::free(memory);
}

void Machine::set_memory(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  memory_bytes_ = bytes;
}

std::size_t Machine::memory_left() {
  const std::lock_guard lock(mutex_);
  return memory_bytes_ - std::min(memory_taken_, memory_bytes_);
}

void Machine::fail(const std::string& what) {
  const std::lock_guard lock(mutex_);
  failed_ = true;
  what_ = what;
  changed_.notify_all();
}

bool Machine::has_failed() {
  const std::lock_guard lock(mutex_);
  return failed_;
}

std::ptrdiff_t Machine::count_calls(const std::string& name) {
  const std::lock_guard lock(mutex_);
  return std::ranges::count(calls, name);
}

void Machine::clear_calls() {
  const std::lock_guard lock(mutex_);
  calls.clear();
  launched.clear();
  kernels_run_together = false;
  watch = {};
}

CUstream_st* Machine::create_stream(int priority) {
  const std::lock_guard lock(mutex_);
  streams_.push_back(new CUstream_st{.items = {}, .priority = priority, .num_done = 0, .num_enqueued = 0});
  return streams_.back();
}

void Machine::destroy_stream(CUstream_st* stream) {
  (void)run_until([&] { return stream->items.empty(); });
  const std::lock_guard lock(mutex_);
  std::erase(streams_, stream);
  gone_.emplace_back(stream);  // events that were recorded on it may be asked for still
}

std::size_t Machine::num_streams() {
  const std::lock_guard lock(mutex_);
  return streams_.size();
}

void Machine::enqueue(CUstream_st* stream, Item item) {
  const std::lock_guard lock(mutex_);
  if (watch && item.run)
    if (auto tell = watch())
      item.run = [run = std::move(item.run), tell = std::move(tell)] {
        const std::int64_t start = steady_ns();
        run();
        tell(start, steady_ns());
      };
  stream->items.push_back(std::move(item));
  ++stream->num_enqueued;
  changed_.notify_all();
}

bool Machine::has_passed(const CUevent_st& event) const {
  return event.stream == nullptr || event.stream->num_done >= event.position;
}

std::vector<std::string> Machine::all_calls() {
  const std::lock_guard lock(mutex_);
  return calls;
}

void Machine::run_all_that_may() {
  const std::lock_guard lock(mutex_);
  while (run_one()) continue;
}

bool Machine::run_one() {
  std::vector<CUstream_st*> able;
  for (CUstream_st* stream : streams_)
    if (!stream->items.empty() && (!stream->items.front().ready || stream->items.front().ready()))
      able.push_back(stream);
  if (able.empty()) return false;
  CUstream_st& stream = *able[random_() % able.size()];
  if (kernels_run_together && stream.items.front().kernel) {
    run_side_by_side(stream, able);
    changed_.notify_all();
    return true;
  }
  const Item item = std::move(stream.items.front());
  stream.items.pop_front();
  try {
    if (item.run) item.run();
  } catch (const std::exception& error) {
    failed_ = true;
    what_ = error.what();
  }
  ++stream.num_done;
  changed_.notify_all();
  return true;
}

void Machine::run_side_by_side(CUstream_st& chosen, const std::vector<CUstream_st*>& able) {
  std::vector<KernelLaunch> launches;
  std::vector<CUstream_st*> streams;
  for (CUstream_st* stream : able) {
    if (stream != &chosen && !stream->items.front().kernel) continue;
    launches.push_back(*stream->items.front().kernel);
    streams.push_back(stream);
    stream->items.pop_front();
  }
  try {
    run_together(launches, random_);
  } catch (const std::exception& error) {
    failed_ = true;
    what_ = error.what();
  }
  for (CUstream_st* stream : streams) ++stream->num_done;
}

cudaError_t Machine::run_until(const std::function<bool()>& done) {
  std::unique_lock lock(mutex_);
  while (!done() && !failed_) {
    if (run_one()) {
      // Others may want to enqueue what the next item of another stream must be chosen against.
      lock.unlock();
      lock.lock();
    } else if (changed_.wait_for(lock, std::chrono::seconds(20)) == std::cv_status::timeout) {
      return cudaErrorLaunchTimeout;
    }
  }
  return failed_ ? cudaErrorLaunchFailure : cudaSuccess;
}

}  // namespace underlap::cuda_host
