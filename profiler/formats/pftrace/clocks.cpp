// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/pftrace/clocks.hpp"

#include <algorithm>
#include <protozero/pbf_reader.hpp>
#include <vector>

#include "profiler/formats/kineto/events.hpp"
#include "profiler/formats/perfetto/slice.hpp"
#include "profiler/formats/pftrace/fields.hpp"

namespace underlap::formats::pftrace {
namespace {

struct ClockReading {
  std::uint64_t id = 0;
  std::uint64_t timestamp = 0;
  std::uint64_t unit_ns = 1;
  bool is_incremental = false;
};

// {clock_id: 64, timestamp: 62999999900000, is_incremental: true, unit_multiplier_ns: 1}
ClockReading reading_of(protozero::data_view message) {
  ClockReading reading;
  protozero::pbf_reader reader(message);
  while (reader.next()) switch (reader.tag_and_type()) {
      case perfetto::number(perfetto::clock_snapshot::kClockId): reading.id = reader.get_uint64(); break;
      case perfetto::number(perfetto::clock_snapshot::kTimestamp): reading.timestamp = reader.get_uint64(); break;
      case perfetto::number(clock::kIsIncremental): reading.is_incremental = reader.get_uint64() != 0; break;
      case perfetto::number(clock::kUnitNs): reading.unit_ns = std::max<std::uint64_t>(1, reader.get_uint64()); break;
      default: reader.skip();
    }
  return reading;
}

std::optional<std::int64_t> nanoseconds(std::uint64_t timestamp, std::uint64_t unit_ns) {
  std::int64_t time = 0;
  if (__builtin_mul_overflow(timestamp, unit_ns, &time) || time > kMostTimeNs) return std::nullopt;
  return time;
}

bool is_in_range(std::int64_t time_ns) { return -kMostTimeNs <= time_ns && time_ns <= kMostTimeNs; }

}  // namespace

Clocks::Key Clocks::key_of(std::uint64_t clock, std::uint64_t sequence) {
  const bool is_of_sequence = clock::kFirstOfSequence <= clock && clock < clock::kFirstOfFile;
  return {clock, is_of_sequence ? sequence : 0};
}

void Clocks::add_snapshot(protozero::data_view message, std::uint64_t sequence) {
  std::vector<ClockReading> readings;
  protozero::pbf_reader reader(message);
  while (reader.next(perfetto::clock_snapshot::kClocks, protozero::pbf_wire_type::length_delimited))
    readings.push_back(reading_of(reader.get_view()));
  const auto is_of_system = [](const ClockReading& reading) { return reading.id < clock::kFirstOfSequence; };
  auto reference = std::ranges::find(readings, clock::kBoottime, &ClockReading::id);
  if (reference == readings.end()) reference = std::ranges::find_if(readings, is_of_system);
  if (reference == readings.end()) return;
  const auto reference_ns = nanoseconds(reference->timestamp, reference->unit_ns);
  if (!reference_ns) return;
  const auto known = clocks_.find(key_of(reference->id, sequence));
  const std::int64_t now_ns = *reference_ns + (known == clocks_.end() ? 0 : known->second.offset_ns);
  if (!is_in_range(now_ns)) return;  // or snapshots that build on each other add up to more than 64 bits
  for (const ClockReading& reading : readings) {
    const auto time = nanoseconds(reading.timestamp, reading.unit_ns);
    if (!time) continue;
    const Clock clock{.offset_ns = now_ns - *time,
                      .unit_ns = reading.unit_ns,
                      .last = reading.timestamp,
                      .is_incremental = reading.is_incremental};
    const bool is_first = clocks_.try_emplace(key_of(reading.id, sequence), clock).second;
    // Later snapshots would make the clocks of the system jump by their drift.
    if (!is_of_system(reading)) clocks_[key_of(reading.id, sequence)] = clock;
    if (is_first && reading.id == perfetto::clock_snapshot::kRealtime) unix_offset_ns_ = -clock.offset_ns;
  }
}

std::optional<std::int64_t> Clocks::time_ns(std::uint64_t timestamp, std::uint64_t clock, std::uint64_t sequence) {
  const auto found = clocks_.find(key_of(clock, sequence));
  if (found == clocks_.end()) {
    if (clock >= clock::kFirstOfSequence) return std::nullopt;
    return nanoseconds(timestamp, 1);
  }
  Clock& of = found->second;
  if (of.is_incremental) timestamp = of.last += timestamp;
  const auto time = nanoseconds(timestamp, of.unit_ns);
  std::int64_t shifted = 0;
  if (!time || __builtin_add_overflow(*time, of.offset_ns, &shifted)) return std::nullopt;
  if (!is_in_range(shifted)) return std::nullopt;
  return shifted;
}

}  // namespace underlap::formats::pftrace
