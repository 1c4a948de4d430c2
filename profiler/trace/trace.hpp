// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "profiler/trace/attribution_source.hpp"
#include "profiler/trace/communication.hpp"
#include "profiler/trace/flow.hpp"
#include "profiler/trace/name.hpp"
#include "profiler/trace/tag.hpp"
#include "profiler/trace/track.hpp"

namespace underlap {

/// The end of a step on one rank: the end of its last operation on the compute stream.
///
/// Two successive marks of one (rank, block) bound a window. The first mark of a block closes its settling
/// step and opens the first measured window.
struct Mark {
  std::int32_t rank = 0;
  std::int32_t block = 0;
  std::int32_t step = 0;  ///< step that ends here, counted through the whole run
  std::int64_t time_ns = 0;

  friend bool operator==(const Mark&, const Mark&) = default;
};

/// The same moment on a rank's clock and on the wall clock.
struct ClockSnapshot {
  std::int32_t rank = 0;
  std::int64_t device_ns = 0;  ///< the clock of the slices of this rank
  std::int64_t unix_ns = 0;

  friend bool operator==(const ClockSnapshot&, const ClockSnapshot&) = default;
};

/// How large the work of a slice is: two launches of one kernel are alike where these agree.
struct LaunchShape {
  std::array<std::uint32_t, 3> grid{};   ///< blocks of a kernel; 0: not known
  std::array<std::uint32_t, 3> block{};  ///< threads of a block
  std::int64_t bytes = 0;                ///< that a copy or a memset moves

  friend bool operator==(const LaunchShape&, const LaunchShape&) = default;
};

/// One reading of a counter.
struct CounterSample {
  std::uint32_t track = 0;  ///< of kind counter
  std::int64_t time_ns = 0;
  double value = 0;

  friend bool operator==(const CounterSample&, const CounterSample&) = default;
};

/// One slice as a row; the trace itself holds columns.
struct Slice {
  std::uint32_t track = 0;
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;
  NameId name = kNoName;
  std::uint32_t operation = 0;  ///< number of the operation in its rank's program of the step; 0: not known
  Tag tag;
  Attribution attribution{};  ///< of tag.mode
  LaunchShape shape{};
};

/// Prefix of skip reasons that concern only host rows: no device time depends on them.
inline constexpr std::string_view kHostReason = "host event ";

/// What a reader could not use, by reason.
struct ImportReport {
  std::int64_t events = 0;
  std::map<std::string, std::int64_t> skipped;

  std::int64_t num_skipped() const {
    std::int64_t sum = 0;
    for (const auto& [reason, count] : skipped) sum += count;
    return sum;
  }
};

/// Slices in columns, with the tables that they index. 40 bytes a slice, 12 a flow; tags, launch shapes and
/// communication records apart.
class Trace {
 public:
  static constexpr std::uint32_t kNoCommunication = ~std::uint32_t{0};

  std::vector<Track> tracks;
  std::vector<GroupRecord> groups;
  std::vector<Mark> marks;
  std::vector<ClockSnapshot> clocks;
  std::vector<CounterSample> counters;
  std::vector<Flow> flows;
  std::map<std::string, std::string> metadata;  ///< backend, link, clock, config, schema, ...
  ImportReport import;

  /// Returns the index of the track, adding it where it is new.
  std::uint32_t add_track(const Track&);
  /// Returns the index of the group, adding it where it is new.
  std::uint32_t add_group(const GroupRecord&);
  void add(const Slice&);
  void add(const Slice&, CommunicationRecord);
  /// Makes room for `num_slices` in all.
  void reserve(std::size_t num_slices);

  std::size_t size() const { return start_ns_.size(); }
  Slice slice(std::size_t) const;
  /// The record of a communication slice, or nullptr. Owned by the trace, valid until the next add.
  const CommunicationRecord* communication(std::size_t) const;
  /// Index of the communicator that a slice's record names; nothing where it names none.
  std::optional<std::uint32_t> known_group(std::size_t) const;
  /// Whether a slice continues a communication that an earlier slice of its rank started: one of several copies.
  bool is_part(std::size_t i) const { return communication(i) != nullptr && communication(i)->is_part; }
  /// Whether the bytes that a slice's rank sent are known. A receive, and a group of one rank, send nothing.
  bool knows_bytes_on_wire(std::size_t) const;

  /// Sets when the last member of a communication slice arrived. The slice has a communication record.
  void set_last_arrival(std::size_t, std::int64_t last_arrival_ns);
  /// Sets what a slice is and how that is known.
  void set_tag(std::size_t, const Tag&, const Attribution&);
  /// Sets the communication record of a slice.
  void set_communication(std::size_t, CommunicationRecord);

  const std::vector<std::int64_t>& start_ns() const { return start_ns_; }
  const std::vector<std::int64_t>& duration_ns() const { return duration_ns_; }
  std::int64_t end_ns(std::size_t i) const { return start_ns_[i] + duration_ns_[i]; }
  std::uint32_t track(std::size_t i) const { return track_[i]; }
  NameId name(std::size_t i) const { return name_[i]; }
  const Tag& tag(std::size_t i) const { return tags_[tag_[i]].tag; }
  const Attribution& attribution(std::size_t i) const { return tags_[tag_[i]].attribution; }
  const LaunchShape& shape(std::size_t i) const { return shapes_[shape_[i]]; }
  const Track& track_of(std::size_t i) const { return tracks[track_[i]]; }
  /// Whether a slice is work of a device: calls, ranges and waits are none, and take no part in exposure.
  bool is_work(std::size_t i) const { return tag(i).kind != Kind::none; }

  /// The end of the last slice or mark; 0 where there is none.
  std::int64_t last_ns() const;
  /// The start of the first slice or mark; 0 where there is none.
  std::int64_t first_ns() const;
  /// Puts everything later by `ns`, on the ranks' clocks.
  void shift(std::int64_t ns);

  /// Appends all of `other`; equal tracks and groups become one.
  void append(const Trace& other);

 private:
  struct TagEntry {
    Tag tag;
    Attribution attribution;

    friend bool operator==(const TagEntry&, const TagEntry&) = default;
  };
  struct Hash {
    std::size_t operator()(const TagEntry&) const;
    std::size_t operator()(const LaunchShape&) const;
  };

  std::uint32_t index_of(const TagEntry&);
  std::uint32_t index_of(const LaunchShape&);

  std::vector<std::int64_t> start_ns_;
  std::vector<std::int64_t> duration_ns_;
  std::vector<NameId> name_;
  std::vector<std::uint32_t> track_;
  std::vector<std::uint32_t> operation_;
  std::vector<std::uint32_t> tag_;
  std::vector<std::uint32_t> shape_;
  std::vector<std::uint32_t> communication_;
  std::vector<TagEntry> tags_;
  std::vector<LaunchShape> shapes_;
  std::vector<CommunicationRecord> communications_;
  std::unordered_map<TagEntry, std::uint32_t, Hash> tag_index_;
  std::unordered_map<LaunchShape, std::uint32_t, Hash> shape_index_;
};

}  // namespace underlap
