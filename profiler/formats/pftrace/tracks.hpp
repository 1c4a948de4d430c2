// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "profiler/formats/pftrace/events.hpp"

namespace underlap::formats::pftrace {

/// The number of a stream or a hardware queue that a name ends with: "stream 7 ", "[07] stream 7",
/// "STREAM [\" 7 \"] ", "COMPUTE GPU [0] QUEUE [2] GPU"; -1: it names none. Other words after the number make it
/// another name.
std::int32_t stream_in(std::string_view name);

/// The number in "GPU 0", "cuda:0" or "Device [0]"; -1: the name has none.
std::int32_t device_in(std::string_view name);

/// What the descriptors of a file's tracks show.
struct Place {
  KinetoId pid;  ///< of the host's process
  KinetoId tid;  ///< of the host's thread, or the name of the track
  NameId thread_name = kNoName;
  std::int32_t stream = -1;  ///< -1: not a stream of a GPU by its name
  std::int32_t device = -1;  ///< of the track or the tracks around it
};

/// The place of each track.
std::vector<Place> places_of(std::span<const Track>);

}  // namespace underlap::formats::pftrace
