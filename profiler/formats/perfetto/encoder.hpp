// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "profiler/formats/lanes.hpp"
#include "profiler/formats/perfetto/fields.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::formats {

/// Turns blocks of a trace into Perfetto packets. Names, tracks, groups and metadata are written once, and again after
/// forget().
class PerfettoEncoder {
 public:
  /// The packets of one block. Throws std::invalid_argument, having changed nothing, for a block that cannot be
  /// written: a negative duration, an end past int64, or a track or group that the block does not have.
  std::string encode(const Trace& block);

  /// Repeats everything in the next block, because the last packets did not reach the file.
  void forget();

 private:
  struct TrackState {
    Lanes lanes;
    std::vector<std::uint64_t> uuids;  ///< by lane
  };
  using TrackKey = std::tuple<std::int32_t, std::int32_t, std::string, TrackKind, std::int32_t>;
  // An arrow of a viewer, as one of its two slices has it.
  struct FlowEnd {
    std::uint32_t slice = 0;
    bool is_last = false;
    std::uint64_t id = 0;
  };
  enum class Shown : bool { to_readers, to_viewers };

  void begin_block(const Trace&);
  void end_block();
  void write_metadata(const Trace&);
  void write_groups(const Trace&);
  void write_tracks(const Trace&);
  void write_slice(const Trace&, std::size_t slice, std::uint64_t uuid);
  void write_mark(const Mark&);
  void write_clock(const ClockSnapshot&);
  void write_counter(const Trace&, const CounterSample&);
  void write_flows(const Trace&);

  void write_ranks();
  void write_rank(std::int32_t rank);
  void write_lane(const Track&, TrackState&);
  void write_marks_track(std::int32_t rank);
  std::uint64_t track_uuid(const Track&);
  void find_arrows(const Trace&);
  void write_arrows(std::size_t slice);
  void show_wait(const Trace&, std::size_t slice, std::uint64_t uuid);
  /// A slice that viewers see, and readers pass over.
  void show_slice(std::uint64_t uuid, NameId name, std::int64_t start_ns, std::int64_t end_ns);

  void write_tag(const Slice&);
  void write_attribution(const Attribution&);
  void write_shape(const LaunchShape&);
  void write_communication(const CommunicationRecord&);
  void write_transfers(const std::vector<TransferRecord>&);
  void annotate(perfetto::Annotation, std::int64_t value);
  void annotate_word(perfetto::Annotation, NameId text);
  std::uint64_t name_iid(NameId);
  std::uint64_t string_iid(NameId);
  std::uint64_t unique_uuid(const std::string& key);
  /// Closes the event in `event_` into a packet.
  void flush_event(std::int64_t time_ns, Shown = Shown::to_readers);

  std::string out_;       ///< packets of the block
  std::string event_;     ///< the TrackEvent being built
  std::string interned_;  ///< InternedData that its packet carries
  bool state_cleared_ = false;
  std::uint64_t num_written_ = 0;  ///< slices of all blocks
  std::unordered_map<NameId, std::uint64_t> name_iids_;
  std::unordered_map<NameId, std::uint64_t> string_iids_;
  std::map<std::string, std::string> metadata_;
  std::vector<GroupRecord> groups_;
  std::vector<std::uint64_t> group_ids_;  ///< of the block's groups
  std::vector<NameId> group_members_;     ///< of the block's groups, as text
  std::map<TrackKey, TrackState> tracks_;
  std::vector<std::uint64_t> slice_uuids_;  ///< of the block's slices
  std::vector<FlowEnd> arrows_;             ///< by slice of the block
  std::uint64_t ranks_uuid_ = 0;
  std::map<std::int32_t, Mark> last_marks_;  ///< by rank
  std::map<std::int32_t, std::uint64_t> marks_uuids_;
  std::map<std::int32_t, std::uint64_t> rank_uuids_;
  std::map<std::uint64_t, std::string> uuids_;
};

}  // namespace underlap::formats
