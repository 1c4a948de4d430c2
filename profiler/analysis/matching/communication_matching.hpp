// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/trace/trace.hpp"

namespace underlap::analysis {

/// The evidence that slices of several ranks are one communication; the strongest first.
enum class MatchBasis : std::uint8_t {
  sequence,  ///< the trace gives communicator and position
  order,     ///< the trace gives the communicator; the members' aligned orders have the same kinds
  assumed    ///< the trace gives neither; all ranks run the same kernels in the same order, at one time
};

/// "sequence", ...
std::string_view to_string(MatchBasis);

/// One rank's part in a communication.
struct MatchMember {
  std::int32_t rank = 0;
  std::uint32_t slice = 0;

  friend bool operator==(const MatchMember&, const MatchMember&) = default;
};

/// A collective with at least two of its members, or a message with its sender and its receiver.
struct Match {
  Collective collective = Collective::all_reduce;  ///< send: a message
  MatchBasis basis = MatchBasis::sequence;
  std::uint32_t group = 0;           ///< index into Trace::groups; into Matching::assumed_groups where that holds any
  std::uint64_t sequence = 0;        ///< of a collective, among those of its group
  std::vector<MatchMember> members;  ///< of a collective by rank; of a message the sender and then the receiver
  std::int32_t num_missing = 0;      ///< members of a collective that have no trace

  bool is_message() const { return collective == Collective::send; }
};

/// What of a trace's communication belongs together, and what could not be brought together.
struct Matching {
  std::vector<Match> matches;
  std::vector<GroupRecord> assumed_groups;        ///< that record_matches adds to the trace
  std::map<std::string, std::int64_t> unmatched;  ///< communication slices by reason, one clause each
  std::int64_t slices = 0;                        ///< of communication in all
  std::int64_t matched_slices = 0;                ///< that are in a match; one may be in several messages
  std::int64_t partly_matched_slices = 0;         ///< of these, slices whose match lacks a member

  bool is_assumed() const {
    return std::ranges::any_of(matches, [](const Match& match) { return match.basis == MatchBasis::assumed; });
  }
};

/// Finds which slices of several ranks are one collective, and which sends and receives are one message.
///
/// By communicator and sequence where the trace has them; else by communicator and order, after aligning captures that
/// start apart; if no slice names a communicator, by order and kernel name over all ranks, if their sequences are equal
/// and each collective has a moment at which all of its members run. Ambiguous slices are not matched. Collectives that
/// lack members match among those present. Records of two ranks are of one communicator where name, purpose and
/// size agree, and the ranks where both list them. In about the time of sorting the communication slices. Order fails
/// when one rank lacks the first collective and another the last: each is then matched with its neighbor.
Matching match_communications(const Trace&);

/// Writes into the records of a trace what was found, so that members of a collective have one group and sequence:
/// align_clocks and find_arrivals then see them. Slices that were matched on an assumption get a record, and their
/// group a description by which match_communications knows the assumption again.
void record_matches(Trace&, const Matching&);

/// Adds arrows to Trace::flows: from each send to its receive, and from the last member of each collective to all
/// others. The last member has the largest `start_ns` minus `offset_ns` of its rank. Skips flows that the trace already
/// has.
void add_flows(Trace&, const Matching&, const std::map<std::int32_t, std::int64_t>& offset_ns = {});

/// The collective of a communication kernel by its name, such as "ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)".
/// SendRecv gives `all_to_all`; a name without a collective gives all_reduce.
Collective collective_of_kernel(std::string_view name);

/// The number of ranks of the job: the number that the trace states, but at least the number of ranks in it.
std::int32_t num_ranks_of_job(const Trace&);

/// What describes a group that holds all ranks because nothing else is known.
NameId assumed_group_description();

/// Adds to `result` the collectives of a trace whose slices name no communicator: the first of each rank is one, the
/// second of each, and so on.
///
/// That is taken for true only where every rank runs the same kernels in the same order, and each collective, after the
/// ranks' clocks were put to one another, has a moment at which all members run. Where the ranks' whole sequences
/// differ, those of their streams are tried, the first stream with communication of one rank against the first of the
/// others. `by_start`: the communication slices of each rank in order of their starts. Otherwise counts them as
/// unmatched, with the reason.
/// Fails when ranks use several communicators at the same times: their collectives are then matched as one.
void match_assumed(const Trace&, const std::map<std::int32_t, std::vector<std::uint32_t>>& by_start, Matching& result);

}  // namespace underlap::analysis
