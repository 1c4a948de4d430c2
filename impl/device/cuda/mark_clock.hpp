// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "impl/device/cuda/handles.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::cuda {

/// The times of marks, by CUDA's events: untraced runs measure their steps with them. CUDA returns the time between two
/// events as a float of milliseconds, so times are added up from mark to mark. Over a whole run, a float's resolution
/// would be coarser than a step.
class MarkClock {
 public:
  /// Sets the clock's zero: `stream` is idle, and now is the host's steady clock.
  void start(CUstream_st* stream);

  /// Records that `stream` has reached the mark. Where no event is at hand one is made.
  void record(CUstream_st* stream, const Mark& mark);

  /// The marks since the last call, their times in nanoseconds of the host's steady clock. All of them have passed.
  std::vector<Mark> take();

 private:
  struct Pending {
    Mark mark;
    EventHandle event;
  };

  EventHandle last_;
  double last_ns_ = 0;
  std::vector<Pending> pending_;
  std::vector<EventHandle> free_;
};

}  // namespace underlap::cuda
