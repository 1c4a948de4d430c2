// SPDX-License-Identifier: Apache-2.0
#include "impl/device/cuda/event_pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "kernels/cuda/check.hpp"

namespace underlap::cuda {

Event EventPool::record(CUstream_st* stream, std::uint32_t stream_id) {
  EventHandle handle;
  if (free_.empty()) {
    handle = make_event();
  } else {
    handle = std::move(free_.back());
    free_.pop_back();
  }
  check(cudaEventRecord(handle.get(), stream));
  const Event event{oldest_ + live_.size()};
  live_.push_back(std::move(handle));
  Generation& open = generations_.back();
  open.end = event.id + 1;
  const auto last = std::ranges::find(open.last, stream_id, &Last::stream);
  if (last == open.last.end()) {
    open.last.push_back({stream_id, event});
  } else {
    last->event = event;
  }
  return event;
}

CUevent_st* EventPool::find(Event event) const {
  if (event.id < oldest_) return nullptr;
  if (event.id >= oldest_ + live_.size())
    throw std::invalid_argument(fmt::format("event {} was not recorded on this device", event.id));
  return live_[event.id - oldest_].get();
}

bool EventPool::has_passed(const Generation& generation) const {
  return std::ranges::all_of(generation.last, [&](const Last& last) {
    const cudaError_t result = query(find(last.event));
    if (result != cudaErrorNotReady) check(result);
    return result == cudaSuccess;
  });
}

void EventPool::close_generation() {
  const std::uint64_t end = generations_.back().end;
  generations_.push_back({.end = end, .last = {}});
  // The open one, and the two that the last two marks ended, stay.
  while (generations_.size() > 3 && has_passed(generations_.front())) {
    release_until(generations_.front().end);
    generations_.pop_front();
  }
}

void EventPool::all_have_passed() {
  release_until(oldest_ + live_.size());
  generations_.clear();
  generations_.push_back({.end = oldest_, .last = {}});
}

void EventPool::release_until(std::uint64_t number) {
  for (; oldest_ < number; ++oldest_) {
    free_.push_back(std::move(live_.front()));
    live_.pop_front();
  }
}

}  // namespace underlap::cuda
