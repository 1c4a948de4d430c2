// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "profiler/trace/communication.hpp"
#include "profiler/trace/name.hpp"
#include "profiler/trace/tag.hpp"

namespace underlap {

/// One stream of one rank.
struct Track {
  std::int32_t rank = 0;
  std::int32_t stream = 0;  ///< the stream's number on its rank
  std::string name;

  friend bool operator==(const Track&, const Track&) = default;
};

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

/// One slice as a row; the trace itself holds columns.
struct Slice {
  std::uint32_t track = 0;
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;
  NameId name = kNoName;
  std::uint32_t operation = 0;  ///< number of the operation in its rank's program of the step; 0: not known
  Tag tag;
};

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

/// Slices in columns, with the tables that they index. 40 bytes a slice, tags and communication records apart.
class Trace {
 public:
  static constexpr std::uint32_t kNoCommunication = ~std::uint32_t{0};

  std::vector<Track> tracks;
  std::vector<GroupRecord> groups;
  std::vector<Mark> marks;
  std::vector<ClockSnapshot> clocks;
  std::map<std::string, std::string> metadata;  ///< backend, link, clock, config, schema, ...
  ImportReport import;

  /// Returns the index of the track, adding it where it is new.
  std::uint32_t add_track(const Track&);
  /// Returns the index of the group, adding it where it is new.
  std::uint32_t add_group(const GroupRecord&);
  void add(const Slice&);
  void add(const Slice&, CommunicationRecord);

  std::size_t size() const { return start_ns_.size(); }
  Slice slice(std::size_t) const;
  /// The record of a communication slice, or nullptr. Owned by the trace, valid until the next add.
  const CommunicationRecord* communication(std::size_t) const;

  /// Sets when the last member of a communication slice arrived. The slice has a communication record.
  void set_last_arrival(std::size_t, std::int64_t last_arrival_ns);

  const std::vector<std::int64_t>& start_ns() const { return start_ns_; }
  const std::vector<std::int64_t>& duration_ns() const { return duration_ns_; }
  std::int64_t end_ns(std::size_t i) const { return start_ns_[i] + duration_ns_[i]; }
  std::uint32_t track(std::size_t i) const { return track_[i]; }
  NameId name(std::size_t i) const { return name_[i]; }
  const Tag& tag(std::size_t i) const { return tags_[tag_[i]]; }

  /// The end of the last slice or mark; 0 where there is none.
  std::int64_t last_ns() const;
  /// The start of the first slice or mark; 0 where there is none.
  std::int64_t first_ns() const;
  /// Puts everything later by `ns`, on the ranks' clocks.
  void shift(std::int64_t ns);

  /// Appends all of `other`; equal tracks and groups become one.
  void append(const Trace& other);

 private:
  std::vector<std::int64_t> start_ns_;
  std::vector<std::int64_t> duration_ns_;
  std::vector<NameId> name_;
  std::vector<std::uint32_t> track_;
  std::vector<std::uint32_t> operation_;
  std::vector<std::uint32_t> tag_;
  std::vector<std::uint32_t> communication_;
  std::vector<Tag> tags_;
  std::vector<CommunicationRecord> communications_;

  struct TagHash {
    std::size_t operator()(const Tag&) const;
  };
  std::unordered_map<Tag, std::uint32_t, TagHash> tag_index_;
};

}  // namespace underlap
