// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace underlap {

/// What a track shows.
enum class TrackKind : std::uint8_t {
  stream,  ///< work of a device in the order in which it was enqueued, and the waits between
  thread,  ///< calls of a thread of the host, nested
  range,   ///< annotations of a thread or a device, nested: NVTX ranges, user annotations, steps
  counter  ///< a value over time (Trace::counters)
};

std::string_view to_string(TrackKind);
std::optional<TrackKind> track_kind_from(std::string_view);

/// One stream, thread, counter or row of ranges of one rank.
struct Track {
  std::int32_t rank = 0;
  std::int32_t stream = 0;  ///< the stream's number on its rank; of a thread, its number
  std::string name;
  TrackKind kind = TrackKind::stream;
  std::int32_t device = -1;  ///< the device's number on its machine; -1: not known, or none

  friend bool operator==(const Track&, const Track&) = default;
};

}  // namespace underlap
