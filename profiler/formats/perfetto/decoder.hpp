// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <protozero/data_view.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "profiler/formats/perfetto/slice.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::formats {

/// Builds a trace from the packets of a native file, one after the other, and counts what it cannot use.
class PerfettoDecoder {
 public:
  /// `origin` names the file in messages.
  explicit PerfettoDecoder(std::string origin);
  ~PerfettoDecoder();

  /// `begin` is where the packet's tag and length begin, before it. The packets of a block lie in one piece of memory,
  /// of which the checksum at its end is taken.
  /// Throws std::invalid_argument for a newer schema; a packet that is broken inside is counted.
  void add_packet(protozero::data_view packet, const char* begin);
  void skip(std::string_view reason, std::int64_t count = 1);

  /// As far as it was read.
  const Trace& trace() const { return trace_; }
  /// The trace, with what is missing at its end counted. Throws std::invalid_argument where no packet was ours.
  Trace finish();

 private:
  struct Event;
  struct OpenSlice {
    Slice slice;
    std::optional<CommunicationRecord> communication;
    std::string_view fault;
  };
  // What the events of one uuid are, and its slices that are not ended yet.
  struct EventTrack {
    std::optional<std::uint32_t> track;      ///< index into Trace::tracks
    std::optional<std::int32_t> marks_rank;  ///< whose marks they are
    std::vector<OpenSlice> open;
  };
  // What the current block announced and has not come yet.
  struct Block {
    bool open = false;
    bool has_checksum = false;
    const char* begin = nullptr;  ///< of its first packet
    std::int64_t slices = 0, marks = 0, clocks = 0, counters = 0, flows = 0;
    std::vector<std::uint32_t> slice_indices;  ///< of those that came, where flows will name them
  };
  struct Packet;

  void apply(const Packet&);
  static bool is_for_viewers(protozero::data_view ours);
  void add_interned(protozero::data_view, PerfettoSequence&);
  void add_entry(std::uint32_t field, protozero::data_view, PerfettoSequence&);
  void add_ours(protozero::data_view, PerfettoSequence&);
  void check_schema(const std::string& schema);
  void begin_block(protozero::data_view);
  void make_room();
  void end_block(std::optional<std::uint32_t> checksum);
  void cut_block();
  void count_missing(const std::string& where);
  void add_metadata(protozero::data_view);
  void add_group(protozero::data_view, PerfettoSequence&);
  void add_track(protozero::data_view);
  void add_marks_track(protozero::data_view);
  void add_clock(protozero::data_view);
  void add_event(const Packet&, const PerfettoSequence&);
  void begin_slice(const Event&, EventTrack&, const PerfettoSequence&, std::int64_t time_ns);
  void end_slice(EventTrack&, std::int64_t time_ns);
  void add_counter(const Event&, std::uint32_t track, std::int64_t time_ns);
  void add_flows(protozero::data_view);
  void add_mark(const Event&, std::int32_t rank, const PerfettoSequence&, std::int64_t time_ns);

  std::string origin_;
  Trace trace_;
  bool ours_ = false;
  const char* packet_begin_ = nullptr;  ///< of the packet that is read
  const char* packet_end_ = nullptr;
  Block block_;
  ById<PerfettoSequence> sequences_;
  std::unordered_map<std::uint64_t, EventTrack> tracks_;  ///< by uuid
  std::unique_ptr<Event> event_;                          ///< that is read
};

}  // namespace underlap::formats
