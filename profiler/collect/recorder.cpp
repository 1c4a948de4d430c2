// SPDX-License-Identifier: Apache-2.0
#include "profiler/collect/recorder.hpp"

#include <algorithm>
#include <utility>

namespace underlap {

void StreamRecorder::record(Slot slot, CommunicationRecord&& record_of_slot) {
  if (slots_.size() == slots_.capacity()) {
    ++num_dropped_;
    return;
  }
  slot.communication = static_cast<std::int32_t>(communications_.size());
  communications_.push_back(std::move(record_of_slot));
  slots_.push_back(slot);
}

StreamRecorder& Recorder::add_stream(std::uint32_t stream, std::string_view name) {
  auto& added = *streams_.emplace_back(std::make_unique<StreamRecorder>());
  added.stream_ = stream;
  added.name_ = name_of(intern(name));
  return added;
}

std::uint32_t Recorder::add_group(const GroupRecord& group) {
  groups_.push_back(group);
  return static_cast<std::uint32_t>(groups_.size() - 1);
}

void Recorder::reserve(std::size_t slices) {
  for (const auto& stream : streams_) {
    stream->slots_.reserve(slices);
    stream->communications_.reserve(slices);
  }
}

std::size_t Recorder::largest_stream() const {
  std::size_t largest = 0;
  for (const auto& stream : streams_) largest = std::max(largest, stream->slots_.size() + stream->num_dropped_);
  return largest;
}

Recorder::Drained Recorder::drain() {
  Drained drained;
  Trace& trace = drained.trace;
  trace.groups = groups_;
  std::vector<std::vector<std::uint32_t>> slices;  // by stream
  for (const auto& stream : streams_) {
    const std::uint32_t track = trace.add_track(
        {.rank = rank_, .stream = static_cast<std::int32_t>(stream->stream_), .name = std::string(stream->name_)});
    if (slices.size() <= stream->stream_) slices.resize(stream->stream_ + 1);
    std::vector<std::uint32_t>& of_stream = slices[stream->stream_];
    for (const StreamRecorder::Slot& slot : stream->slots_) {
      of_stream.push_back(static_cast<std::uint32_t>(trace.size()));
      const Slice slice{.track = track,
                        .start_ns = slot.start_ns,
                        .duration_ns = slot.end_ns - slot.start_ns,
                        .name = slot.name,
                        .operation = slot.operation,
                        .tag = slot.tag};
      if (slot.communication < 0) {
        trace.add(slice);
      } else {
        trace.add(slice, std::move(stream->communications_[static_cast<std::size_t>(slot.communication)]));
      }
    }
    drained.num_dropped += std::exchange(stream->num_dropped_, 0);
    stream->slots_.clear();
    stream->communications_.clear();
  }
  event_edges_.append_flows(trace, slices);
  event_edges_.clear();
  return drained;
}

}  // namespace underlap
