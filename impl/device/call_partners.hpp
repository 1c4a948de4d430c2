// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "impl/device/program.hpp"

namespace underlap {

/// A command of one program as an index into its commands.
struct CommandAt {
  std::uint32_t program = 0;
  std::uint32_t command = 0;
};

/// `call` cannot move all its bytes before `partner`, a call of another program, has begun.
struct CallPartner {
  CommandAt call;
  CommandAt partner;
  double send_share = 0;     ///< of the bytes that `call` sends, those that need `partner`: 0 to 1
  double receive_share = 0;  ///< of those that it receives
};

/// Which calls of several ranks' programs exchange something, by match_transfers().
/// A member of a group that has no program here, or does not declare the communicator, is taken to be wherever it is
/// waited for. Fails when it would be late: the wait for it is then missing.
/// Throws std::invalid_argument where two programs are of one rank, or a call finds no partner in a program that is
/// there.
std::vector<CallPartner> find_call_partners(std::span<const Program> programs);

}  // namespace underlap
