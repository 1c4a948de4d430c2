// SPDX-License-Identifier: Apache-2.0
#include "impl/device/makespan.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <vector>

namespace underlap {

std::int64_t makespan_ns(const Program& program, const DurationOf& duration_of) {
  // By stream, the end of each command; first of all a moment before any.
  std::vector<std::vector<std::int64_t>> ends(program.streams.size(), {0});
  std::optional<std::int64_t> last_mark;
  for (const ProgramCommand& command : program.commands) {
    if (!command.is_on_stream()) continue;
    std::int64_t end = ends.at(command.stream).back();
    if (command.type == ProgramCommand::Type::wait || command.type == ProgramCommand::Type::pace) {
      const std::vector<std::int64_t>& awaited = ends.at(command.awaited_stream);
      const std::uint64_t base = program.first_positions.at(command.awaited_stream);
      const std::uint64_t position = std::max(command.awaited_position, base) - base;
      if (position >= awaited.size())
        throw std::invalid_argument("a program waits for a command that it enqueues later");
      end = std::max(end, awaited[position]);
    } else if (command.type == ProgramCommand::Type::mark) {
      last_mark = end;
    } else if (command.type != ProgramCommand::Type::acquire && command.type != ProgramCommand::Type::release) {
      end += duration_of(command);
    }
    ends[command.stream].push_back(end);
  }
  if (!last_mark) throw std::invalid_argument("a program without a mark has no end");
  return *last_mark;
}

}  // namespace underlap
