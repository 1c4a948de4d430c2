// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "impl/device/program.hpp"
#include "impl/device/program_matching.hpp"
#include "impl/device/sim/time_model.hpp"

namespace underlap::sim {

/// Matches the transfers of different ranks.
///
/// ChannelNumbers identifies communicators. All collectives of one call are one flow: the k-th such call
/// of every member matches. A send matches the receive with the same number between the same two members.
///
/// match_transfers() does the same for whole programs. This class works while ranks still record their steps, drops
/// finished flows, and lets one rank represent several.
///
/// If only some ranks are simulated, they represent the others. A collective takes the simulated members. A message to
/// or from a member that is not simulated equals the other messages over the same distance around the group. The
/// simulated member sends one such message and receives one: these two are its ends. The same holds for both messages
/// of a call that swaps with one member, on either side: each member is the other's peer.
class Rendezvous {
 public:
  using FlowId = std::uint32_t;

  /// `simulated`: the global ranks that enter, ascending; empty: all.
  explicit Rendezvous(std::vector<std::int32_t> simulated = {}) : simulated_(std::move(simulated)) {}

  /// Registers the communicators of `rank`, once, before its first call.
  void add_rank(std::int32_t rank, const Program& program);

  /// One flow of a call, as its rank enters it, for the part at the same index.
  struct Entry {
    FlowId flow = 0;
    std::size_t num_ends = 0;  ///< of the flow, which starts after all have entered and arrived
  };

  /// Numbers the flows of a call, which is in `parts`, into `entries`. Calls of one communicator come in their order;
  /// program and parts must stay until their flows are over. Throws std::invalid_argument naming both ranks if their
  /// transfers do not match.
  void enter(std::int32_t rank, const Program& program, const ProgramCommand& call, std::span<const CallPart> parts,
             std::vector<Entry>& entries);

  /// The flow is over: its number may be reused.
  void forget(FlowId flow);

  /// Members that have not entered the flow, as global ranks.
  std::vector<std::int32_t> missing(FlowId flow) const;

 private:
  struct CommunicatorState {
    std::uint32_t global = 0;
    std::uint64_t num_collective_calls = 0;
    std::vector<std::int32_t> simulated;                                                 // members
    std::map<std::tuple<std::int32_t, std::int32_t, bool>, std::uint64_t> num_messages;  // by key, and whether sent
  };
  struct Key {
    std::uint32_t communicator = 0;
    std::int32_t from = -1;  // -1: a collective; -2: a member that is not simulated
    std::int32_t to = -1;    // or the distance around the group
    std::uint64_t number = 0;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct FlowState {
    Key key;
    std::span<const std::int32_t> members;  // that enter
    std::vector<std::int32_t> entered;
    const Program* program = nullptr;  // of the first to enter
    const ProgramCommand* call = nullptr;
    std::uint32_t transfer = 0;  // of a message: its place in the call
  };

  FlowId find(const Key& key, std::int32_t rank, const Program& program, const ProgramCommand& call,
              std::uint32_t transfer, std::span<const std::int32_t> members);
  bool is_simulated(std::int32_t rank) const;
  Key message_key(const CommunicatorState& state, const Program& program, const ProgramCommand& call,
                  const CallPart& part) const;
  void check_message(FlowId id, std::int32_t rank, const Program& program, const ProgramCommand& call,
                     const Transfer& mine) const;
  void check_collectives(FlowId id, std::int32_t rank, const Program& program, const ProgramCommand& call) const;

  std::vector<std::int32_t> simulated_;
  ChannelNumbers channels_;
  std::unordered_map<std::int32_t, std::vector<CommunicatorState>> ranks_;
  std::map<Key, FlowId> open_;
  std::vector<FlowState> flows_;
  std::vector<FlowId> free_;
};

}  // namespace underlap::sim
