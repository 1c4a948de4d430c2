// SPDX-License-Identifier: Apache-2.0
#include "impl/device/serial_points.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <span>
#include <stdexcept>

namespace underlap {
namespace {

using Type = ProgramCommand::Type;

/// How many commands of each stream have surely ended when a command starts, for each command of a program.
class EndedBefore {
 public:
  explicit EndedBefore(const Program& program)
      : program_(program),
        num_streams_(program.streams.size()),
        ended_(program.commands.size() * num_streams_),
        positions_(program.commands.size()),
        by_position_(num_streams_),
        host_(num_streams_) {
    for (std::uint32_t c = 0; c < program.commands.size(); ++c) add(c);
  }

  std::span<const std::uint32_t> of(std::uint32_t command) const {
    return std::span(ended_).subspan(command * num_streams_, num_streams_);
  }
  /// Of a command in its stream, counted from 1.
  std::uint32_t position(std::uint32_t command) const { return positions_[command]; }

 private:
  void add(std::uint32_t c) {
    const ProgramCommand& command = program_.commands[c];
    const std::span<std::uint32_t> ended = std::span(ended_).subspan(c * num_streams_, num_streams_);
    std::copy(host_.begin(), host_.end(), ended.begin());
    if (command.is_on_stream()) {
      std::vector<std::uint32_t>& stream = by_position_.at(command.stream);
      join(ended, command.stream, stream.size());
      if (command.type == Type::wait || command.type == Type::throttle) join_awaited(ended, command);
      stream.push_back(c);
      positions_[c] = static_cast<std::uint32_t>(stream.size());
    } else if (command.type == Type::synchronize) {
      if (command.awaited_stream != ProgramCommand::kAllStreams)
        join_awaited(ended, command);
      else
        for (std::size_t s = 0; s < num_streams_; ++s) join(ended, s, by_position_[s].size());
      std::copy(ended.begin(), ended.end(), host_.begin());
    }
  }

  // Adds the first `count` commands of `stream`, and what had ended before the last of them started.
  void join(std::span<std::uint32_t> ended, std::size_t stream, std::size_t count) const {
    if (count == 0) return;
    const std::span<const std::uint32_t> before = of(by_position_[stream][count - 1]);
    for (std::size_t s = 0; s < num_streams_; ++s) ended[s] = std::max(ended[s], before[s]);
    ended[stream] = std::max(ended[stream], static_cast<std::uint32_t>(count));
  }

  void join_awaited(std::span<std::uint32_t> ended, const ProgramCommand& command) const {
    const std::uint64_t base = program_.first_positions.at(command.awaited_stream);
    if (command.awaited_position <= base) return;
    const std::uint64_t count = command.awaited_position - base;
    if (count > by_position_.at(command.awaited_stream).size())
      throw std::invalid_argument("a program waits for a command that it enqueues later");
    join(ended, command.awaited_stream, count);
  }

  const Program& program_;
  std::size_t num_streams_;
  std::vector<std::uint32_t> ended_;  // by command and stream
  std::vector<std::uint32_t> positions_;
  std::vector<std::vector<std::uint32_t>> by_position_;  // by stream: its commands
  std::vector<std::uint32_t> host_;                      // what had ended when the host stood still last
};

constexpr std::uint32_t kNone = ~std::uint32_t{0};

// Commands that all work enqueued after them waits for.
std::vector<bool> precede_later_work(const Program& program, const EndedBefore& ended,
                                     const std::vector<bool>& is_work) {
  std::vector<std::uint32_t> next_work(program.streams.size(), kNone);  // by stream
  std::vector<bool> precede(program.commands.size());
  for (std::uint32_t c = static_cast<std::uint32_t>(program.commands.size()); c-- > 0;) {
    const ProgramCommand& command = program.commands[c];
    if (!command.is_on_stream()) continue;
    precede[c] = std::all_of(next_work.begin(), next_work.end(), [&](std::uint32_t work) {
      return work == kNone || ended.of(work)[command.stream] >= ended.position(c);
    });
    if (is_work[c]) next_work[command.stream] = c;
  }
  return precede;
}

}  // namespace

std::vector<std::uint32_t> serial_points(const Program& program, const std::vector<bool>& is_work) {
  const EndedBefore ended(program);
  const std::vector<bool> precede = precede_later_work(program, ended, is_work);
  std::vector<std::uint32_t> last_work(program.streams.size(), 0);  // by stream: its position
  std::vector<std::uint32_t> points;
  for (std::uint32_t c = 0; c < program.commands.size(); ++c) {
    const ProgramCommand& command = program.commands[c];
    if (!command.is_on_stream()) continue;
    const bool follows_work = std::equal(last_work.begin(), last_work.end(), ended.of(c).begin(), std::less_equal<>());
    if (follows_work && precede[c]) points.push_back(c);
    if (is_work[c]) last_work[command.stream] = ended.position(c);
  }
  return points;
}

}  // namespace underlap
