// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "impl/device/program.hpp"

namespace underlap {

/// Whether a command makes a stream or the host wait for a position of a stream.
bool awaits_position(const ProgramCommand& command);

/// A program with the position of each command on its stream. Positions count from 1; position 0 is before all of them.
/// It refers to the program and does not own it.
class ProgramIndex {
 public:
  /// Throws std::invalid_argument if a command awaits one that is enqueued later, or names an unknown stream.
  explicit ProgramIndex(const Program& program);

  const Program& program() const { return *program_; }
  const ProgramCommand& command(std::uint32_t index) const { return program_->commands[index]; }
  std::uint32_t num_commands() const { return static_cast<std::uint32_t>(program_->commands.size()); }
  std::uint32_t num_streams() const { return static_cast<std::uint32_t>(on_stream_.size()); }

  /// Position of a command on its stream; 0 for commands that are not on a stream.
  std::uint32_t position(std::uint32_t index) const { return positions_[index]; }

  /// The commands of a stream in their order: the one at position p is [p - 1].
  std::span<const std::uint32_t> on_stream(std::uint32_t stream) const { return on_stream_[stream]; }

  /// Calls visit(stream, position) for the commands that must end before a command starts: the previous one on its
  /// stream, and those that it waits for. Skips commands before this program.
  template <class Visit>
  void visit_awaited(std::uint32_t index, Visit visit) const {
    const auto visit_one = [&](std::uint32_t stream, std::uint32_t position) {
      if (position > 0) visit(stream, position);
    };
    const ProgramCommand& command = program_->commands[index];
    if (command.is_on_stream()) visit_one(command.stream, positions_[index] - 1);
    if (awaits_position(command))
      visit_one(command.awaited_stream, awaited_position(command));
    else if (command.type == ProgramCommand::Type::synchronize)
      for (std::uint32_t s = 0; s < num_streams(); ++s) visit_one(s, num_enqueued(s, index));
  }

  /// The position on its awaited stream that a wait, throttle or synchronize refers to; 0: one before this program.
  std::uint32_t awaited_position(const ProgramCommand& command) const;

 private:
  void check_awaited(const ProgramCommand& command) const;
  /// Number of commands on a stream that come before the command `index` of the program.
  std::uint32_t num_enqueued(std::uint32_t stream, std::uint32_t index) const;

  const Program* program_;
  std::vector<std::uint32_t> positions_;               // by command
  std::vector<std::vector<std::uint32_t>> on_stream_;  // by stream
};

}  // namespace underlap
