// SPDX-License-Identifier: Apache-2.0
#include "profiler/collect/cupti/activity_parser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>

#include "platform/errors.hpp"
#include "profiler/collect/cupti/record_layouts.hpp"

namespace underlap::cupti {
namespace {

constexpr std::size_t kAlignment = 8;
constexpr std::uint32_t kIncomplete = 0;  // CUPTI_ACTIVITY_KIND_INVALID
constexpr const char* kNotCompleted = "incomplete CUPTI record, with the rest of its buffer";

using Bytes = std::span<const std::uint8_t>;

// Copies, because a buffer read from a file need not be aligned.
template <class Value>
Value read(Bytes record, std::size_t offset) {
  Value value;
  std::memcpy(&value, record.data() + offset, sizeof(value));
  return value;
}

std::uint32_t u32(Bytes record, std::size_t offset) { return read<std::uint32_t>(record, offset); }
std::uint64_t u64(Bytes record, std::size_t offset) { return read<std::uint64_t>(record, offset); }
std::int32_t i32(Bytes record, std::size_t offset) { return read<std::int32_t>(record, offset); }

constexpr std::uint64_t kLargest = std::numeric_limits<std::int64_t>::max();

struct Times {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

// CUPTI writes zeros where it could not take a time.
std::optional<Times> times_of(Bytes record, std::size_t offset, const char* what, Activities& activities) {
  const std::uint64_t start = u64(record, offset);
  const std::uint64_t end = u64(record, offset + 8);
  const char* fault = nullptr;
  if (start == 0 || end == 0)
    fault = "without times";
  else if (start > kLargest || end > kLargest)
    fault = "with a time out of range";
  else if (end < start)
    fault = "that ends before it starts";
  if (fault != nullptr) {
    ++activities.skipped[fmt::format("{} {}", what, fault)];
    return std::nullopt;
  }
  return Times{static_cast<std::int64_t>(start), static_cast<std::int64_t>(end)};
}

std::optional<std::int64_t> size_of(Bytes record, const char* what, Activities& activities) {
  const std::uint64_t bytes = u64(record, 8);
  if (bytes <= kLargest) return static_cast<std::int64_t>(bytes);
  ++activities.skipped[fmt::format("{} with an invalid size", what)];
  return std::nullopt;
}

Extent extent_of(Bytes record, std::size_t offset) {
  return {i32(record, offset), i32(record, offset + 4), i32(record, offset + 8)};
}

bool is_possible(const Extent& extent) { return extent.x > 0 && extent.y > 0 && extent.z > 0; }

void add_kernel(Bytes record, const ActivityParser::NameAt& name_at, Activities& activities) {
  const auto times = times_of(record, 16, "kernel", activities);
  if (!times) return;
  KernelActivity kernel{.at = {.start_ns = times->start_ns, .end_ns = times->end_ns, .correlation = u32(record, 92)},
                        .grid = extent_of(record, 52)};
  if (!is_possible(kernel.grid) || !is_possible(extent_of(record, 64))) {
    ++activities.skipped["kernel with an invalid grid or block"];
    return;
  }
  const auto name = name_at(u64(record, 104));
  if (!name) ++activities.skipped["name of a kernel (the kernel is kept)"];
  kernel.name = name.value_or(kNoName);
  activities.kernels.push_back(kernel);
}

// Both copy records begin alike; they differ from the correlation id on.
void add_copy(Bytes record, bool is_peer, Activities& activities) {
  const auto times = times_of(record, 16, "copy", activities);
  const auto bytes = size_of(record, "copy", activities);
  if (!times || !bytes) return;
  activities.copies.push_back(
      {.at = {.start_ns = times->start_ns, .end_ns = times->end_ns, .correlation = u32(record, is_peer ? 60 : 44)},
       .is_peer = is_peer,
       .bytes = *bytes});
}

void add_memset(Bytes record, Activities& activities) {
  const auto times = times_of(record, 16, "memset", activities);
  const auto bytes = size_of(record, "memset", activities);
  if (!times || !bytes) return;
  activities.memsets.push_back(
      {.at = {.start_ns = times->start_ns, .end_ns = times->end_ns, .correlation = u32(record, 44)}, .bytes = *bytes});
}

void add_synchronization(Bytes record, Activities& activities) {
  const auto times = times_of(record, 8, "synchronization", activities);
  if (!times) return;
  const std::uint32_t kind = u32(record, 4);
  activities.synchronizations.push_back({.start_ns = times->start_ns,
                                         .end_ns = times->end_ns,
                                         .kind = static_cast<SynchronizationKind>(kind <= 4 ? kind : 0),
                                         .correlation = u32(record, 24),
                                         .context = u32(record, 28),
                                         .stream = u32(record, 32),
                                         .event = u32(record, 36),
                                         .event_record = record.size() >= 48 ? u64(record, 40) : 0});
}

void add_event(Bytes record, Activities& activities) {
  activities.events.push_back({.correlation = u32(record, 4),
                               .context = u32(record, 8),
                               .stream = u32(record, 12),
                               .event = u32(record, 16),
                               .record = record.size() >= 56 ? u64(record, 48) : 0});
}

void add_overhead(Bytes record, Activities& activities) {
  const auto times = times_of(record, 24, "overhead", activities);
  if (!times) return;
  activities.overheads.push_back({.start_ns = times->start_ns, .end_ns = times->end_ns, .kind = u32(record, 4)});
}

void add_api_call(Bytes record, bool is_runtime, Activities& activities) {
  const auto times = times_of(record, 8, "API call", activities);
  if (!times) return;
  activities.api_calls.push_back({.start_ns = times->start_ns,
                                  .end_ns = times->end_ns,
                                  .is_runtime = is_runtime,
                                  .function = u32(record, 4),
                                  .correlation = u32(record, 32),
                                  .thread = u32(record, 28),
                                  .result = u32(record, 36)});
}

}  // namespace

ActivityParser::ActivityParser(std::uint32_t cupti_version, NameAt name_at, NextRecord next_record)
    : version_(cupti_version), name_at_(std::move(name_at)), next_record_(std::move(next_record)) {
  if (is_checked_version(version_)) next_record_ = {};
  if (!is_known_version(version_) && !next_record_)
    throw MachineError(
        fmt::format("cannot read activity buffers of CUPTI version {}: its record sizes are unknown (known: 12.4 to "
                    "13.5)\nread them on a machine with that CUPTI, or add its sizes to record_layouts.cpp",
                    version_));
}

void ActivityParser::parse(Bytes buffer, Activities& activities) const {
  if (next_record_)
    walk_by_library(buffer, activities);
  else
    walk_by_table(buffer, activities);
}

void ActivityParser::walk_by_table(Bytes buffer, Activities& activities) const {
  while (!buffer.empty()) {
    if (buffer.size() < kAlignment) {
      ++activities.skipped["record cut off by the end of its buffer"];
      return;
    }
    const std::uint32_t kind = u32(buffer, 0);
    if (kind == kIncomplete) {
      ++activities.skipped[kNotCompleted];
      return;
    }
    const auto size = record_size(kind, version_);
    if (!size) {
      ++activities.skipped[fmt::format("record of kind {} of unknown size, with the rest of its buffer", kind)];
      return;
    }
    if (buffer.size() < *size) {
      ++activities.skipped["record cut off by the end of its buffer"];
      return;
    }
    add(buffer.first(*size), activities);
    buffer = buffer.subspan(*size);
  }
}

void ActivityParser::walk_by_library(Bytes buffer, Activities& activities) const {
  const std::uint8_t* const end = buffer.data() + buffer.size();
  // The next record, or nullptr where there is none that can be used: unless the buffer ends, the reason is counted.
  const auto next_behind = [&](const std::uint8_t* previous) -> const std::uint8_t* {
    const std::optional<const std::uint8_t*> found = next_record_(buffer, previous);
    if (!found) {
      ++activities.skipped[kNotCompleted];
      return nullptr;
    }
    const std::uint8_t* const record = *found;
    if (record == nullptr) {
      if (previous == nullptr && !buffer.empty()) ++activities.skipped["buffer without a record"];
      return nullptr;
    }
    if (record >= buffer.data() && record < end && (previous == nullptr || record > previous) &&
        (record - buffer.data()) % static_cast<std::ptrdiff_t>(kAlignment) == 0)
      return record;
    ++activities.skipped["misplaced record, with the rest of its buffer"];
    return nullptr;
  };
  for (const std::uint8_t* record = next_behind(nullptr); record != nullptr;) {
    const std::uint8_t* const following = next_behind(record);
    add({record, following != nullptr ? following : end}, activities);
    record = following;
  }
}

// A record starts with its kind in 32 bits: 0a 00 00 00 is a concurrent kernel, of 216 bytes in CUDA 13.0.
void ActivityParser::add(Bytes record, Activities& activities) const {
  ++activities.num_records;
  const std::uint32_t kind = record.size() < kAlignment ? 0 : u32(record, 0);
  const std::size_t smallest = smallest_record_size(kind);
  if (smallest == 0) {
    ++activities.skipped[fmt::format("record of kind {}, which is not used", kind)];
    return;
  }
  if (record.size() < smallest) {
    ++activities.skipped[fmt::format("record of kind {} that is too short", kind)];
    return;
  }
  switch (static_cast<RecordKind>(kind)) {
    case RecordKind::kernel:
    case RecordKind::concurrent_kernel: add_kernel(record, name_at_, activities); break;
    case RecordKind::memcpy: add_copy(record, false, activities); break;
    case RecordKind::memcpy_peer: add_copy(record, true, activities); break;
    case RecordKind::memset: add_memset(record, activities); break;
    case RecordKind::synchronization: add_synchronization(record, activities); break;
    case RecordKind::cuda_event: add_event(record, activities); break;
    case RecordKind::overhead: add_overhead(record, activities); break;
    case RecordKind::runtime: add_api_call(record, true, activities); break;
    case RecordKind::driver: add_api_call(record, false, activities); break;
    case RecordKind::external_correlation:
      activities.external_correlations.push_back({u32(record, 16), u32(record, 4), u64(record, 8)});
      break;
  }
}

// Names, synchronization, overhead and API calls are additions to the work on a device, so it is complete without them.
// Unused kinds were not requested.
std::map<std::string, std::int64_t> lost_records(const Activities& activities) {
  constexpr std::array<std::string_view, 4> kAuxiliary{"name of", "synchronization", "overhead", "API call"};
  std::map<std::string, std::int64_t> lost;
  for (const auto& [reason, count] : activities.skipped) {
    const bool is_auxiliary = reason.ends_with("which is not used") ||
                              std::any_of(kAuxiliary.begin(), kAuxiliary.end(),
                                          [&](std::string_view begin) { return reason.starts_with(begin); });
    if (!is_auxiliary) lost.emplace(reason, count);
  }
  return lost;
}

std::optional<NameId> name_in_this_process(std::uint64_t address) {
  if (address == 0) return std::nullopt;
  return intern(reinterpret_cast<const char*>(static_cast<std::uintptr_t>(address)));
}

}  // namespace underlap::cupti
