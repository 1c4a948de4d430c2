// SPDX-License-Identifier: Apache-2.0
#include "impl/device/serial_points.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <span>

#include "impl/device/program_index.hpp"

namespace underlap {
namespace {

/// For each command of a program: how many commands of each stream have certainly ended when it starts.
class EndedBefore {
 public:
  explicit EndedBefore(const Program& program)
      : index_(program), ended_(program.commands.size() * index_.num_streams()), host_(index_.num_streams()) {
    for (std::uint32_t c = 0; c < index_.num_commands(); ++c) add(c);
  }

  std::span<const std::uint32_t> of(std::uint32_t command) const {
    return std::span(ended_).subspan(std::size_t{command} * index_.num_streams(), index_.num_streams());
  }
  /// Position of a command in its stream, counted from 1.
  std::uint32_t position(std::uint32_t command) const { return index_.position(command); }

 private:
  void add(std::uint32_t c) {
    const std::span<std::uint32_t> ended =
        std::span(ended_).subspan(std::size_t{c} * index_.num_streams(), index_.num_streams());
    std::ranges::copy(host_, ended.begin());
    // Everything that an awaited command waited for has ended too.
    index_.visit_awaited(c, [&](std::uint32_t stream, std::uint32_t position) {
      const std::span<const std::uint32_t> before = of(index_.on_stream(stream)[position - 1]);
      for (std::size_t s = 0; s < ended.size(); ++s) ended[s] = std::max(ended[s], before[s]);
      ended[stream] = std::max(ended[stream], position);
    });
    if (index_.command(c).type == ProgramCommand::Type::synchronize) std::ranges::copy(ended, host_.begin());
  }

  ProgramIndex index_;
  std::vector<std::uint32_t> ended_;  // by command and stream
  std::vector<std::uint32_t> host_;   // the commands that had ended after the host's last wait
};

constexpr std::uint32_t kNone = ~std::uint32_t{0};

// Commands that all work enqueued later waits for.
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
