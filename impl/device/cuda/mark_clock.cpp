// SPDX-License-Identifier: Apache-2.0
#include "impl/device/cuda/mark_clock.hpp"

#include <chrono>
#include <utility>

#include "kernels/cuda/check.hpp"

namespace underlap::cuda {

void MarkClock::start(CUstream_st* stream) {
  last_ = make_timing_event();
  check(cudaEventRecord(last_.get(), stream));
  check(cudaEventSynchronize(last_.get()));
  last_ns_ = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void MarkClock::record(CUstream_st* stream, const Mark& mark) {
  EventHandle event;
  if (free_.empty()) {
    event = make_timing_event();
  } else {
    event = std::move(free_.back());
    free_.pop_back();
  }
  check(cudaEventRecord(event.get(), stream));
  pending_.push_back({mark, std::move(event)});
}

std::vector<Mark> MarkClock::take() {
  std::vector<Mark> marks;
  for (Pending& pending : pending_) {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, last_.get(), pending.event.get()));
    last_ns_ += 1e6 * static_cast<double>(milliseconds);
    free_.push_back(std::exchange(last_, std::move(pending.event)));
    pending.mark.time_ns = static_cast<std::int64_t>(last_ns_);
    marks.push_back(pending.mark);
  }
  pending_.clear();
  return marks;
}

}  // namespace underlap::cuda
