// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "impl/device/program.hpp"

namespace underlap {

/// Numbers communicators, with one number for all members. A communicator is identified by its purpose, its members and
/// how many communicators with these its rank declared before.
class ChannelNumbers {
 public:
  /// The numbers of a rank's communicators, in the order of their declaration. Called once for each rank.
  std::vector<std::uint32_t> add(std::span<const ProgramCommunicator> communicators);

 private:
  std::map<std::tuple<std::string, std::vector<std::int32_t>, std::int32_t>, std::uint32_t> numbers_;
};

/// A communicator as seen by all ranks together.
struct Channel {
  static constexpr std::uint32_t kNotDeclared = ~std::uint32_t{0};

  std::string purpose;
  std::vector<std::int32_t> members;     ///< global ranks in group order
  std::vector<std::uint32_t> on_member;  ///< by member: its own number of the communicator, or kNotDeclared
};

/// One side of an exchange.
struct Party {
  static constexpr std::uint32_t kNever = ~std::uint32_t{0};

  std::int32_t rank = 0;            ///< global
  std::uint32_t program = kNever;   ///< index of the rank's program
  std::uint32_t command = kNever;   ///< kNever: this side never comes
  std::uint32_t transfer = kNever;  ///< among the command's transfers

  bool comes() const { return command != kNever; }
};

/// Transfers that run together: a collective's transfers of all members, or a send and its receive.
struct Exchange {
  std::uint32_t channel = 0;
  std::vector<Party> parties;  ///< by member; for a point-to-point exchange the sender, then the receiver
  bool is_point_to_point = false;
};

/// The exchanges between ranks. Transfers of one kind match by their order: the k-th collective of each member of a
/// channel, the k-th send from i to j and the k-th receive at j from i.
struct Matching {
  std::vector<Channel> channels;
  std::vector<Exchange> exchanges;
  /// By program and command: the exchanges of its transfers. A transfer whose peer is not another member has none.
  std::vector<std::vector<std::vector<std::uint32_t>>> of_command;
};

/// Matches the transfers of several ranks' programs. Sides of ranks without a program never come.
Matching match_transfers(std::span<const Program> programs);

}  // namespace underlap
