// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "impl/device/program_index.hpp"

namespace underlap::check {

/// Vector clocks of one rank's streams and its host: which commands have certainly ended when another one starts.
///
/// The commands are added in the order of the calls. This is enough, because nothing can wait for a later command. A
/// `throttle` is no order. After a synchronization, the host's later commands come after the work that it waited for.
class Clocks {
 public:
  explicit Clocks(const ProgramIndex& index);

  /// Takes the next command.
  void enter(std::uint32_t command);

  /// Whether the command at `position` of `stream` ends before the command that was entered last starts.
  bool has_passed(std::uint32_t stream, std::uint32_t position) const { return position <= now_[current_][stream]; }

  /// From the command that was entered last on, as though its stream (or the host) had waited for `position` of
  /// `stream`.
  void assume(std::uint32_t stream, std::uint32_t position);

 private:
  using Clock = std::vector<std::uint32_t>;  // by stream: commands that have ended
  struct Moment {
    std::uint32_t position = 0;
    Clock clock;
  };

  Clock clock_at(std::uint32_t stream, std::uint32_t position) const;
  void join(std::uint32_t who, const Clock& clock);
  void enter_host(const ProgramCommand& command);

  const ProgramIndex* index_;
  std::uint32_t host_;                        // the host's index in now_: after the streams
  std::uint32_t current_ = 0;                 // index in now_ of the stream or host of the last entered command
  std::vector<Clock> now_;                    // by stream, and the host's
  std::vector<std::vector<Moment>> history_;  // by stream: each time that it learnt of others
  std::vector<bool> knows_host_;              // by stream: whether it has taken over what the host knows
};

}  // namespace underlap::check
