// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "profiler/trace/rank_layout.hpp"
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
  double next_to_attention = 0;  ///< part of the slices with attention immediately before or after them
  double one_way = 0;            ///< part of the slices that only send, or only receive
  double stated_both_ways = 0;   ///< part of the slices that send and receive according to the trace
  bool has_both = false;         ///< gathers as often as it scatters
  bool only_reduces = false;     ///< all-reduces alone
  double slices_per_run = 0;     ///< of one collective in a row
};

/// The group of each communication: that of its record; without one, that of all records on its track, where they
/// agree, since a communicator has a stream of its own. Fails when two share a stream and only one has records.
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

/// The mode of a channel, inferred from its ranks and its rhythm.
struct Inference {
  Mode mode = Mode::none;
  AttributionSource source = AttributionSource::none;
  std::uint8_t confidence_pct = 0;
  std::string reason = {};

  /// Whether the configuration leaves no other mode, so that nothing else need be asked.
  bool is_certain() const { return source == AttributionSource::group_geometry; }
};

/// Finds the modes of channels. First compares the ranks of a group with the configuration's sizes. If that leaves
/// several modes, or if there is no configuration, the rhythm decides:
///
/// - communication that always runs next to attention is context parallelism
/// - a channel that sends without receiving belongs to a pipeline; with a configuration, so does every exchange that is
///   not far more frequent than another
/// - gathers and scatters in long runs, or once in very much compute, are those of parameters and gradients
/// - gathers, scatters and all-reduces between few kernels are tensor parallelism
///
/// Without a configuration, channels that match none of these keep no mode: an all-to-all, or a SendRecv that may be an
/// all-to-all.
///
/// Returns one Inference for each channel, in their order.
std::vector<Inference> infer(const Trace&, std::span<const Channel>, const RankLayouts&);

/// The modes that communication in a group of these ranks may have: where the ranks differ in one digit of a layout the
/// digit's, where they are those of a joint group the group's. Mode::other: the ranks of several modes that communicate
/// together. Empty for a group of one, and for ranks that the layouts do not have.
std::vector<Mode> modes_of_ranks(std::span<const std::int32_t> ranks, const RankLayouts&);

/// The same where only the number of the group's ranks is known.
std::vector<Mode> modes_of_size(std::int32_t num_ranks, const RankLayouts&);

/// The same where nothing is known of the group: every mode of more than one rank.
std::vector<Mode> modes_in_use(const RankLayouts&);

}  // namespace underlap::attribution
