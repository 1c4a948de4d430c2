// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "profiler/formats/kineto/events.hpp"
#include "profiler/trace/name.hpp"

namespace underlap::formats::pftrace {

inline constexpr std::uint32_t kNone = ~std::uint32_t{0};

/// The arguments of an event that become part of a trace.
struct Arguments {
  KinetoWork work;
  KinetoCollective collective;
  std::int64_t correlation = -1;  ///< -1: unknown
  std::int64_t begin_ns = -1;     ///< of the slice, as rocprofv3 repeats it; -1: unknown
  std::int64_t end_ns = -1;
  std::uint32_t grid_threads = 0;  ///< of all dimensions, as rocprofv3 counts them
  std::uint32_t block_threads = 0;
  std::int32_t from_device = -1;  ///< of a copy
  std::int32_t to_device = -1;
  bool is_empty = true;  ///< apart from the external id

  bool has_collective() const { return collective.name != kNoName; }
};

/// A track as its descriptor shows it.
struct Track {
  std::uint64_t uuid = 0;
  std::uint64_t parent = 0;
  NameId name = kNoName;
  std::int64_t pid = -1;
  std::int64_t tid = -1;
  bool is_thread = false;
};

enum class EventType : std::uint8_t { begin, end, counter };

struct Event {
  std::int64_t time_ns = 0;
  std::uint32_t track = 0;
  NameId name = kNoName;
  NameId category = kNoName;
  std::uint32_t arguments = kNone;  ///< index into Events::arguments; of a counter: into Events::values
  EventType type = EventType::begin;
};

/// Work of a GPU, in one packet.
struct RenderStage {
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;
  std::int64_t event_id = -1;
  NameId name = kNoName;
  NameId stage = kNoName;
  NameId queue = kNoName;
  std::uint32_t arguments = 0;  ///< index into Events::arguments
  bool is_kernel = false;       ///< it has a kernel's name or launch
};

/// A number that an event of the host shares with work of a GPU.
struct Link {
  std::int64_t id = 0;
  std::uint32_t event = 0;  ///< index into Events::events
};

/// The contents of a file, before starts and ends are paired.
struct Events {
  std::vector<Track> tracks;
  std::vector<Event> events;
  std::vector<RenderStage> stages;
  std::vector<Arguments> arguments;
  std::vector<double> values;       ///< of counters
  std::vector<Link> flows;          ///< by flow id
  std::vector<Link> launches;       ///< by RenderStage::event_id
  std::int64_t unix_offset_ns = 0;  ///< from the file's clock to Unix time
  std::int64_t num_events = 0;
  std::map<std::string_view, std::int64_t> skipped;
};

}  // namespace underlap::formats::pftrace
