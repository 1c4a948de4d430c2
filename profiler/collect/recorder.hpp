// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "profiler/collect/event_edges.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap {

/// Slots for the slices of one stream, written by the stream's thread alone.
///
/// Slots are allocated by reserve(), outside measured time. A slice without a free slot is counted as dropped. The
/// caller that drains must then treat the measurement as invalid.
class StreamRecorder {
 public:
  struct Slot {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    NameId name = kNoName;
    std::uint32_t operation = 0;
    Tag tag;
    std::int32_t communication = -1;  ///< index into the stream's communication records
  };

  void record(const Slot& slot) {
    if (slots_.size() == slots_.capacity()) {
      ++num_dropped_;
      return;
    }
    slots_.push_back(slot);
  }
  void record(Slot slot, CommunicationRecord&& record_of_slot);

 private:
  friend class Recorder;
  std::uint32_t stream_ = 0;
  std::string_view name_;
  std::vector<Slot> slots_;
  std::vector<CommunicationRecord> communications_;
  std::int64_t num_dropped_ = 0;
};

/// The recorder of one rank: one StreamRecorder a stream, drained between blocks.
class Recorder {
 public:
  explicit Recorder(std::int32_t rank) : rank_(rank) {}

  /// Adds a stream; the reference stays valid for the recorder's life.
  StreamRecorder& add_stream(std::uint32_t stream, std::string_view name);

  /// Index of `group` in the traces that drain() returns.
  std::uint32_t add_group(const GroupRecord& group);

  /// The event edges of this rank, written by the thread that enqueues.
  EventEdges& event_edges() { return event_edges_; }

  /// Makes room for `slices` slices on every stream. Call while no stream records.
  void reserve(std::size_t slices);

  /// The largest number of slices that one stream holds now.
  std::size_t largest_stream() const;

  struct Drained {
    Trace trace;
    std::int64_t num_dropped = 0;
  };
  /// Takes everything recorded so far, with the event edges; slots stay allocated. Call while no stream records.
  Drained drain();

 private:
  std::int32_t rank_;
  std::vector<std::unique_ptr<StreamRecorder>> streams_;
  std::vector<GroupRecord> groups_;
  EventEdges event_edges_;
};

}  // namespace underlap
