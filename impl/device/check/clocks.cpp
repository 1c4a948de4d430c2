// SPDX-License-Identifier: Apache-2.0
#include "impl/device/check/clocks.hpp"

#include <algorithm>
#include <iterator>

namespace underlap::check {

Clocks::Clocks(const ProgramIndex& index)
    : index_(&index),
      host_(index.num_streams()),
      now_(index.num_streams() + 1, Clock(index.num_streams(), 0)),
      history_(index.num_streams()),
      knows_host_(index.num_streams(), true) {}

void Clocks::enter(std::uint32_t index) {
  const ProgramCommand& command = index_->command(index);
  if (!command.is_on_stream()) return enter_host(command);
  current_ = command.stream;
  now_[current_][current_] = index_->position(index);
  if (!knows_host_[current_]) join(current_, now_[host_]);
  knows_host_[current_] = true;
  if (command.type == ProgramCommand::Type::wait)
    join(current_, clock_at(command.awaited_stream, index_->awaited_position(command)));
}

void Clocks::enter_host(const ProgramCommand& command) {
  current_ = host_;
  if (command.type != ProgramCommand::Type::synchronize) return;
  if (awaits_position(command)) {
    join(host_, clock_at(command.awaited_stream, index_->awaited_position(command)));
  } else {
    for (std::uint32_t stream = 0; stream < host_; ++stream) join(host_, now_[stream]);
  }
}

void Clocks::assume(std::uint32_t stream, std::uint32_t position) { join(current_, clock_at(stream, position)); }

Clocks::Clock Clocks::clock_at(std::uint32_t stream, std::uint32_t position) const {
  if (position == 0) return Clock(host_, 0);
  const std::vector<Moment>& moments = history_[stream];
  const auto after = std::upper_bound(moments.begin(), moments.end(), position,
                                      [](std::uint32_t p, const Moment& moment) { return p < moment.position; });
  Clock clock = after == moments.begin() ? Clock(host_, 0) : std::prev(after)->clock;
  clock[stream] = position;
  return clock;
}

void Clocks::join(std::uint32_t who, const Clock& clock) {
  Clock& now = now_[who];
  for (std::uint32_t i = 0; i < host_; ++i) now[i] = std::max(now[i], clock[i]);
  if (who == host_)
    std::fill(knows_host_.begin(), knows_host_.end(), false);
  else
    history_[who].push_back({now[who], now});
}

}  // namespace underlap::check
