// SPDX-License-Identifier: Apache-2.0
#include "impl/device/makespan.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <vector>

namespace underlap {
namespace {

struct StreamClock {
  std::vector<std::int64_t> end_ns{0};  // after each command; [0] before the first
  std::int64_t busy_ns = 0;
};

}  // namespace

Makespan makespan(const Program& program, const DurationOf& duration_of) {
  std::vector<StreamClock> streams(program.streams.size());
  std::optional<Makespan> result;
  for (const ProgramCommand& command : program.commands) {
    StreamClock& stream = streams.at(command.stream);
    std::int64_t end = stream.end_ns.back();
    if (command.type == ProgramCommand::Type::wait) {
      const StreamClock& awaited = streams.at(command.awaited_stream);
      if (command.awaited_position >= awaited.end_ns.size())
        throw std::invalid_argument("a program waits for a command that it enqueues later");
      end = std::max(end, awaited.end_ns[command.awaited_position]);
    } else if (command.type != ProgramCommand::Type::mark) {
      const std::int64_t duration = duration_of(command);
      stream.busy_ns += duration;
      end += duration;
    }
    stream.end_ns.push_back(end);
    if (command.type == ProgramCommand::Type::mark) result = Makespan{end, end - stream.busy_ns};
  }
  if (!result) throw std::invalid_argument("a program without a mark has no end");
  return *result;
}

}  // namespace underlap
