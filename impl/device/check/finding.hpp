// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "impl/device/program_index.hpp"

namespace underlap::check {

/// The kinds of errors in the programs of a set of ranks.
enum class FindingKind : std::uint8_t {
  communicator,       ///< declared by some members only, or in different orders
  illegal_use,        ///< a view leaves its tensor, or check_transfer refuses the transfer
  mismatch,           ///< two sides of a transfer do not fit each other
  unmatched,          ///< a side of a transfer never comes
  deadlock,           ///< ranks wait for each other in a circle
  issue_order,        ///< two ranks issue the same transfers in different orders
  race,               ///< two uses of the same elements, one of them a write, in no order
  released_in_use,    ///< a buffer is released while it may be in use
  acquired_in_use,    ///< a buffer is acquired while it is still held
  use_after_release,  ///< a buffer is used after its release without a new acquire
  unwritten_read,     ///< unwritten elements are read
  asymmetry,          ///< two members of a data-parallel group do different things
};
inline constexpr int kNumFindingKinds = 12;

std::string_view to_string(FindingKind);
constexpr FindingKind last_value(FindingKind) { return FindingKind::asymmetry; }

/// A command of one of the programs.
struct CommandPlace {
  std::int32_t rank = 0;
  std::uint32_t index = 0;  ///< into Program::commands

  friend bool operator==(const CommandPlace&, const CommandPlace&) = default;
};

/// One thing that is wrong.
struct Finding {
  FindingKind kind = FindingKind::race;
  std::vector<CommandPlace>
      commands;            ///< that it is about, the earlier enqueued first; of a deadlock, round the circle
  std::string what;        ///< one line
  std::string remedy;      ///< one line
  std::int64_t count = 1;  ///< findings that differ from this one in step or rank alone, this one included
};

/// "compute: adam bucket 3 step 0", and the same after "rank 1 ".
std::string text_of(std::span<const ProgramIndex> ranks, const CommandPlace& place);
std::string text_with_rank(std::span<const ProgramIndex> ranks, const CommandPlace& place);

/// "parameters[128, 256)", or "qkv[16, 32) in 8 rows every 96" where rows lie apart.
std::string text_of(const Program& program, const View& view);

/// Keeps the first of all findings that are of one kind and name the same commands but for their rank and step, and
/// counts the others in it. The order of those that stay is kept.
std::vector<Finding> fold(std::span<const ProgramIndex> ranks, std::vector<Finding> findings);

}  // namespace underlap::check
