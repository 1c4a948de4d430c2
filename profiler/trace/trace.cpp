// SPDX-License-Identifier: Apache-2.0
#include "profiler/trace/trace.hpp"

#include <algorithm>
#include <cassert>
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

struct HashMix {
  std::size_t value = 0;
  void add(std::size_t part) { value = (value ^ part) * 0x9E3779B97F4A7C15ULL + (value >> 29); }
};

}  // namespace

std::size_t Trace::Hash::operator()(const TagEntry& entry) const {
  const Tag& tag = entry.tag;
  HashMix hash;
  hash.add((static_cast<std::size_t>(tag.kind) << 16) | (static_cast<std::size_t>(tag.mode) << 8) |
           static_cast<std::size_t>(tag.direction));
  hash.add(static_cast<std::size_t>(tag.purpose));
  for (const std::int32_t value : {tag.layer, tag.microbatch, tag.bucket, tag.chunk, tag.step})
    hash.add(static_cast<std::uint32_t>(value));
  hash.add((static_cast<std::size_t>(entry.attribution.source) << 8) | entry.attribution.confidence_pct);
  hash.add(static_cast<std::size_t>(entry.attribution.reason));
  return hash.value;
}

std::size_t Trace::Hash::operator()(const LaunchShape& shape) const {
  HashMix hash;
  for (const std::uint32_t value : shape.grid) hash.add(value);
  for (const std::uint32_t value : shape.block) hash.add(value);
  hash.add(static_cast<std::size_t>(shape.bytes));
  return hash.value;
}

// Most slices are like the one before them.
std::uint32_t Trace::index_of(const TagEntry& entry) {
  if (!tag_.empty() && tags_[tag_.back()] == entry) return tag_.back();
  const auto [found, is_new] = tag_index_.try_emplace(entry, static_cast<std::uint32_t>(tags_.size()));
  if (is_new) tags_.push_back(entry);
  return found->second;
}

std::uint32_t Trace::index_of(const LaunchShape& shape) {
  if (!shape_.empty() && shapes_[shape_.back()] == shape) return shape_.back();
  const auto [found, is_new] = shape_index_.try_emplace(shape, static_cast<std::uint32_t>(shapes_.size()));
  if (is_new) shapes_.push_back(shape);
  return found->second;
}

std::uint32_t Trace::add_track(const Track& track) { return index_of_or_add(tracks, track); }
std::uint32_t Trace::add_group(const GroupRecord& group) { return index_of_or_add(groups, group); }

void Trace::add(const Slice& slice) {
  tag_.push_back(index_of({slice.tag, slice.attribution}));
  shape_.push_back(index_of(slice.shape));
  start_ns_.push_back(slice.start_ns);
  duration_ns_.push_back(slice.duration_ns);
  name_.push_back(slice.name);
  track_.push_back(slice.track);
  operation_.push_back(slice.operation);
  communication_.push_back(kNoCommunication);
}

void Trace::add(const Slice& slice, CommunicationRecord record) {
  add(slice);
  communication_.back() = static_cast<std::uint32_t>(communications_.size());
  communications_.push_back(std::move(record));
}

void Trace::reserve(std::size_t num_slices) {
  start_ns_.reserve(num_slices);
  duration_ns_.reserve(num_slices);
  for (auto* column : {&track_, &operation_, &tag_, &shape_, &communication_}) column->reserve(num_slices);
  name_.reserve(num_slices);
}

Slice Trace::slice(std::size_t i) const {
  return {.track = track_[i],
          .start_ns = start_ns_[i],
          .duration_ns = duration_ns_[i],
          .name = name_[i],
          .operation = operation_[i],
          .tag = tag(i),
          .attribution = attribution(i),
          .shape = shape(i)};
}

const CommunicationRecord* Trace::communication(std::size_t i) const {
  return communication_[i] == kNoCommunication ? nullptr : &communications_[communication_[i]];
}

std::optional<std::uint32_t> Trace::known_group(std::size_t i) const {
  const CommunicationRecord* record = communication(i);
  const bool is_known = record != nullptr && record->group < groups.size() && groups[record->group].is_known();
  return is_known ? std::optional(record->group) : std::nullopt;
}

bool Trace::knows_bytes_on_wire(std::size_t i) const {
  const CommunicationRecord* record = communication(i);
  if (record != nullptr && record->is_part) return true;  // the first part has them
  if (record == nullptr || record->transfers.empty()) return false;
  const bool is_alone = record->group < groups.size() && groups[record->group].size() == 1;
  return is_alone || std::ranges::all_of(record->transfers, [](const TransferRecord& transfer) {
           return transfer.bytes_on_wire > 0 || transfer.collective == Collective::receive;
         });
}

void Trace::set_last_arrival(std::size_t i, std::int64_t last_arrival_ns) {
  assert(communication_[i] != kNoCommunication);
  communications_[communication_[i]].last_arrival_ns = last_arrival_ns;
}

void Trace::set_tag(std::size_t i, const Tag& tag, const Attribution& attribution) {
  tag_[i] = index_of({tag, attribution});
}

void Trace::set_communication(std::size_t i, CommunicationRecord record) {
  if (communication_[i] == kNoCommunication) {
    communication_[i] = static_cast<std::uint32_t>(communications_.size());
    communications_.push_back(std::move(record));
  } else {
    communications_[communication_[i]] = std::move(record);
  }
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
  for (CounterSample& sample : counters) sample.time_ns += ns;
  for (CommunicationRecord& record : communications_)
    if (record.last_arrival_ns >= 0) record.last_arrival_ns += ns;
}

void Trace::append(const Trace& other) {
  const auto first = static_cast<std::uint32_t>(size());
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
  for (const CounterSample& sample : other.counters)
    counters.push_back({track_map[sample.track], sample.time_ns, sample.value});
  for (const Flow& flow : other.flows) flows.push_back({first + flow.from, first + flow.to, flow.kind});
  metadata.insert(other.metadata.begin(), other.metadata.end());
  import.events += other.import.events;
  for (const auto& [reason, count] : other.import.skipped) import.skipped[reason] += count;
}

}  // namespace underlap
