// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "impl/device/check/finding.hpp"

namespace underlap::check {

/// A communicator as all ranks together see it: the n-th that is declared for its purpose and members.
struct Channel {
  static constexpr std::uint32_t kNotDeclared = ~std::uint32_t{0};

  std::string purpose;
  std::vector<std::int32_t> members;     ///< global ranks in group order
  std::vector<std::uint32_t> on_member;  ///< by member: its own number of the communicator, or kNotDeclared
};

/// One side of an exchange.
struct Party {
  static constexpr std::uint32_t kNever = ~std::uint32_t{0};

  std::int32_t rank = 0;
  std::uint32_t command = kNever;  ///< kNever: this side never comes
  std::uint32_t transfer = 0;      ///< among the command's transfers
};

/// Transfers that take place together: a collective's of all members, or a send and its receive.
struct Exchange {
  std::uint32_t channel = 0;
  std::vector<Party> parties;  ///< by member; of a point-to-point exchange sender and receiver
  bool is_point_to_point = false;

  bool is_complete() const;
};

/// Who exchanges what with whom. Transfers of one kind match by their order: the k-th collective of each member of a
/// channel, the k-th send from i to j and the k-th receive at j from i.
struct Matching {
  std::vector<Channel> channels;
  std::vector<Exchange> exchanges;
  /// By rank and command: the exchanges of its transfers.
  std::vector<std::vector<std::vector<std::uint32_t>>> of_command;
};

/// Matches the transfers of all ranks.
/// Throws std::invalid_argument where a group names a rank that has no program.
Matching match(std::span<const ProgramIndex> ranks);

/// Declarations that members do not share, transfers that are illegal by themselves, that do not fit each other, or
/// whose other side never comes. Of each channel only the first that does not fit: what follows is its consequence.
std::vector<Finding> check_matching(std::span<const ProgramIndex> ranks, const Matching& matching);

}  // namespace underlap::check
