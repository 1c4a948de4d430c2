// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "impl/device/cuda/handles.hpp"
#include "impl/device/device.hpp"

namespace underlap::cuda {

/// Gives every record its own event, and reuses CUDA's handles after their events have passed.
///
/// Events are numbered in the order of their records; marks divide the numbers into generations. A generation returns
/// its handles after two more marks, when CUDA reports that the last record of each of its streams has passed. (A
/// stream passes its records in order, so all others have passed as well.) A number below the oldest generation is
/// therefore known to be in the past, no matter how early a caller enqueues. Waiting for it returns at once. Used by
/// one thread.
class EventPool {
 public:
  /// Records a fresh event on `stream`, which the caller calls `stream_id`.
  Event record(CUstream_st* stream, std::uint32_t stream_id);

  /// The handle of `event`; nullptr where its moment is known to have passed.
  /// Throws std::invalid_argument for one that was never recorded.
  CUevent_st* find(Event event) const;

  /// A mark: ends a generation, and gives back the handles of those that have passed.
  void close_generation();

  /// All streams are idle: every event so far has passed.
  void all_have_passed();

  std::size_t num_live() const { return live_.size(); }

 private:
  struct Last {
    std::uint32_t stream = 0;
    Event event;
  };
  struct Generation {
    std::uint64_t end = 1;   // the number after its last event
    std::vector<Last> last;  // by stream that recorded in it
  };

  bool has_passed(const Generation& generation) const;
  void release_until(std::uint64_t number);

  std::uint64_t oldest_ = 1;  // the number of live_[0]
  std::deque<EventHandle> live_;
  std::vector<EventHandle> free_;
  std::deque<Generation> generations_{Generation{}};  // the last one is open
};

}  // namespace underlap::cuda
