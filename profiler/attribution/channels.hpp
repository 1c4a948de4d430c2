// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "profiler/attribution/group_geometry.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::attribution {

/// What communication of a channel is like.
enum class Traffic : std::uint8_t { collective, point_to_point, all_to_all };

/// Communication of one rank that certainly has one mode: that of one group, or where no group is known, that of one
/// stream; of one kind of traffic.
struct Channel {
  std::int32_t rank = 0;
  std::optional<std::uint32_t> group;  ///< index into Trace::groups
  std::int32_t stream = 0;
  Traffic traffic = Traffic::collective;
  std::vector<std::size_t> slices = {};  ///< by start

  // How it runs.
  double compute_per_slice = 0;  ///< compute kernels of the rank for each slice
  double beside_attention = 0;   ///< part of the slices with attention immediately before or after them
  double one_way = 0;            ///< part of the slices that only send, or only receive
  double stated_both_ways = 0;   ///< part of the slices that send and receive according to the trace
  bool has_both = false;         ///< gathers as often as it scatters
  bool only_reduces = false;     ///< all-reduces alone
  double slices_per_run = 0;     ///< of one collective in a row
};

/// The group of each communication: that of its record; without one, that of all records on its track, where they
/// agree, since a communicator has a stream of its own.
class GroupsOfSlices {
 public:
  explicit GroupsOfSlices(const Trace&);

  /// An index into Trace::groups.
  std::optional<std::uint32_t> group_of(std::size_t slice) const;
  bool is_by_track(std::size_t slice) const { return !trace_.known_group(slice); }

 private:
  const Trace& trace_;
  std::vector<std::optional<std::uint32_t>> only_group_of_track_;
};

/// The channels of the communication slices `of`, and how each of them relates to the compute of its rank.
std::vector<Channel> channels_of(const Trace&, std::span<const std::size_t> of, const GroupsOfSlices&);

}  // namespace underlap::attribution
