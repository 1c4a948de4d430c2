// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda_host/machine.hpp"

#include <algorithm>
#include <chrono>
#include <exception>

namespace underlap::cuda_host {

Machine& Machine::instance() {
  static Machine machine;
  return machine;
}

void Machine::reset(int num_devices, std::uint64_t seed) {
  const std::lock_guard lock(mutex_);
  num_devices_ = num_devices;
  random_.seed(seed);
  failed_ = false;
  what_.clear();
  calls.clear();
  launched.clear();
  kernels_run_together = false;
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
  delete stream;
}

std::size_t Machine::num_streams() {
  const std::lock_guard lock(mutex_);
  return streams_.size();
}

void Machine::enqueue(CUstream_st* stream, Item item) {
  const std::lock_guard lock(mutex_);
  stream->items.push_back(std::move(item));
  ++stream->num_enqueued;
  changed_.notify_all();
}

bool Machine::has_passed(const CUevent_st& event) const {
  return event.stream == nullptr || event.stream->num_done >= event.position;
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
