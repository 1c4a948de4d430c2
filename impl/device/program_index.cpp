// SPDX-License-Identifier: Apache-2.0
#include "impl/device/program_index.hpp"

#include <algorithm>
#include <stdexcept>

namespace underlap {

namespace {
using Type = ProgramCommand::Type;
}

bool awaits_position(const ProgramCommand& command) {
  if (command.type == Type::synchronize) return command.awaited_stream != ProgramCommand::kAllStreams;
  return command.type == Type::wait || command.type == Type::throttle;
}

ProgramIndex::ProgramIndex(const Program& program)
    : program_(&program), positions_(program.commands.size()), on_stream_(program.streams.size()) {
  for (std::uint32_t i = 0; i < num_commands(); ++i) {
    const ProgramCommand& command = program.commands[i];
    check_awaited(command);
    if (!command.is_on_stream()) continue;
    if (command.stream >= num_streams()) throw std::invalid_argument("a command is on a stream that was never created");
    on_stream_[command.stream].push_back(i);
    positions_[i] = static_cast<std::uint32_t>(on_stream_[command.stream].size());
  }
}

void ProgramIndex::check_awaited(const ProgramCommand& command) const {
  if (!awaits_position(command)) return;
  if (command.awaited_stream >= num_streams())
    throw std::invalid_argument("a program waits for a stream it never created");
  if (awaited_position(command) > on_stream_[command.awaited_stream].size())
    throw std::invalid_argument("a program waits for a command that it enqueues later");
}

std::uint32_t ProgramIndex::num_enqueued(std::uint32_t stream, std::uint32_t index) const {
  const std::vector<std::uint32_t>& all = on_stream_[stream];
  return static_cast<std::uint32_t>(std::ranges::lower_bound(all, index) - all.begin());
}

std::uint32_t ProgramIndex::awaited_position(const ProgramCommand& command) const {
  const std::uint64_t before = program_->first_positions[command.awaited_stream];
  return static_cast<std::uint32_t>(std::max(command.awaited_position, before) - before);
}

}  // namespace underlap
