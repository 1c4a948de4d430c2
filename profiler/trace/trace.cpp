// SPDX-License-Identifier: Apache-2.0
#include "profiler/trace/trace.hpp"

#include <algorithm>
#include <cassert>
#include <optional>
#include <utility>

namespace underlap {
namespace {

template <class T>
std::uint32_t index_of_or_add(std::vector<T>& items, const T& item) {
  const auto found = std::find(items.begin(), items.end(), item);
  if (found != items.end()) return static_cast<std::uint32_t>(found - items.begin());
  items.push_back(item);
  return static_cast<std::uint32_t>(items.size() - 1);
}

}  // namespace

std::size_t Trace::TagHash::operator()(const Tag& tag) const {
  std::size_t hash = 0;
  const auto mix = [&hash](std::size_t value) { hash = (hash ^ value) * 0x9E3779B97F4A7C15ULL + (hash >> 29); };
  mix((static_cast<std::size_t>(tag.kind) << 16) | (static_cast<std::size_t>(tag.mode) << 8) |
      static_cast<std::size_t>(tag.direction));
  mix(static_cast<std::size_t>(tag.purpose));
  for (const std::int32_t value : {tag.layer, tag.microbatch, tag.bucket, tag.chunk, tag.step})
    mix(static_cast<std::uint32_t>(value));
  return hash;
}

std::uint32_t Trace::add_track(const Track& track) { return index_of_or_add(tracks, track); }
std::uint32_t Trace::add_group(const GroupRecord& group) { return index_of_or_add(groups, group); }

void Trace::add(const Slice& slice) {
  const auto [entry, is_new] = tag_index_.try_emplace(slice.tag, static_cast<std::uint32_t>(tags_.size()));
  if (is_new) tags_.push_back(slice.tag);
  start_ns_.push_back(slice.start_ns);
  duration_ns_.push_back(slice.duration_ns);
  name_.push_back(slice.name);
  track_.push_back(slice.track);
  operation_.push_back(slice.operation);
  tag_.push_back(entry->second);
  communication_.push_back(kNoCommunication);
}

void Trace::add(const Slice& slice, CommunicationRecord record) {
  add(slice);
  communication_.back() = static_cast<std::uint32_t>(communications_.size());
  communications_.push_back(std::move(record));
}

Slice Trace::slice(std::size_t i) const {
  return {.track = track_[i],
          .start_ns = start_ns_[i],
          .duration_ns = duration_ns_[i],
          .name = name_[i],
          .operation = operation_[i],
          .tag = tags_[tag_[i]]};
}

const CommunicationRecord* Trace::communication(std::size_t i) const {
  return communication_[i] == kNoCommunication ? nullptr : &communications_[communication_[i]];
}

void Trace::set_last_arrival(std::size_t i, std::int64_t last_arrival_ns) {
  assert(communication_[i] != kNoCommunication);
  communications_[communication_[i]].last_arrival_ns = last_arrival_ns;
}

std::int64_t Trace::last_ns() const {
  std::optional<std::int64_t> last;
  for (std::size_t i = 0; i < size(); ++i) last = std::max(last.value_or(end_ns(i)), end_ns(i));
  for (const Mark& mark : marks) last = std::max(last.value_or(mark.time_ns), mark.time_ns);
  return last.value_or(0);
}

std::int64_t Trace::first_ns() const {
  std::optional<std::int64_t> first;
  for (const std::int64_t start : start_ns_) first = std::min(first.value_or(start), start);
  for (const Mark& mark : marks) first = std::min(first.value_or(mark.time_ns), mark.time_ns);
  return first.value_or(0);
}

void Trace::shift(std::int64_t ns) {
  for (std::int64_t& start : start_ns_) start += ns;
  for (Mark& mark : marks) mark.time_ns += ns;
  for (ClockSnapshot& clock : clocks) clock.device_ns += ns;
  for (CommunicationRecord& record : communications_)
    if (record.last_arrival_ns >= 0) record.last_arrival_ns += ns;
}

void Trace::append(const Trace& other) {
  std::vector<std::uint32_t> track_map;
  std::vector<std::uint32_t> group_map;
  for (const Track& track : other.tracks) track_map.push_back(add_track(track));
  for (const GroupRecord& group : other.groups) group_map.push_back(add_group(group));
  for (std::size_t i = 0; i < other.size(); ++i) {
    Slice slice = other.slice(i);
    slice.track = track_map[slice.track];
    if (const CommunicationRecord* record = other.communication(i)) {
      CommunicationRecord copy = *record;
      copy.group = group_map[copy.group];
      add(slice, std::move(copy));
    } else {
      add(slice);
    }
  }
  marks.insert(marks.end(), other.marks.begin(), other.marks.end());
  clocks.insert(clocks.end(), other.clocks.begin(), other.clocks.end());
  metadata.insert(other.metadata.begin(), other.metadata.end());
  import.events += other.import.events;
  for (const auto& [reason, count] : other.import.skipped) import.skipped[reason] += count;
}

}  // namespace underlap
