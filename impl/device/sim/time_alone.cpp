// SPDX-License-Identifier: Apache-2.0
#include "impl/device/sim/time_alone.hpp"

#include <algorithm>
#include <cstddef>

namespace underlap::sim {
namespace {

std::int64_t rounded_down(double ns) { return static_cast<std::int64_t>(ns); }

// The share of the whole device that a kernel needs for its time alone.
double device_share(const KernelTime& time, const DeviceLimits& limits) {
  if (time.kind == KernelTime::Kind::copy) return 0;
  double sms = time.sms;
  if (time.kind == KernelTime::Kind::waves) {
    const std::int64_t at_once = std::min<std::int64_t>(time.tiles, time.sms);
    const std::int64_t waves = (time.tiles + at_once - 1) / at_once;
    sms = static_cast<double>(time.tiles) / static_cast<double>(waves);
  }
  return std::min(1.0, sms / limits.sms);
}

// Bytes over one kind of link, by direction.
struct LinkBytes {
  double sent = 0;
  double received = 0;

  void add(const CallPart& part, double bytes) {
    if (part.sends) sent += bytes;
    if (part.receives) received += bytes;
  }
  LinkTime at(double bytes_per_ns) const {
    return {.send_ns = rounded_down(sent / bytes_per_ns), .receive_ns = rounded_down(received / bytes_per_ns)};
  }
};

}  // namespace

TimesAlone::TimesAlone(const TimeModel& time, const Program& program)
    : time_(time), program_(program), limits_(time.limits()), launches_(program.costs.size()), calls_(time) {}

CommandTime TimesAlone::of(const ProgramCommand& command) {
  if (command.type == ProgramCommand::Type::communicate) return call(calls_.of(program_, command));
  if (command.type == ProgramCommand::Type::upload) return kernel(time_.copy(command.bytes));
  std::optional<CommandTime>& known = launches_[command.cost];
  if (!known) known = kernel(time_.kernel(program_.costs[command.cost]));
  return *known;
}

CommandTime TimesAlone::kernel(const KernelTime& time) const {
  return {.alone_ns = rounded_down(time.alone_ns),
          .device_ns = rounded_down((time.alone_ns - time.fixed_ns) * device_share(time, limits_))};
}

CommandTime TimesAlone::call(const CallTimes::Call& call) const {
  LinkBytes nvlink, network;
  double longest_ns = 0;
  for (std::size_t i = 0; i < call.parts.size(); ++i) {
    const CallPart& part = call.parts[i];
    const TransferTime& alone = call.times[i];
    longest_ns = std::max(longest_ns, alone.alone_ns);
    // A transfer that is measured faster than its bytes at the line rate fills the link for no longer than it takes.
    nvlink.add(part, std::min(alone.nvlink_bytes, alone.alone_ns * limits_.nvlink_bytes_per_ns));
    network.add(part, std::min(alone.network_bytes, alone.alone_ns * limits_.network_bytes_per_ns));
  }
  CommandTime result{.alone_ns = rounded_down(longest_ns),
                     .links = {nvlink.at(limits_.nvlink_bytes_per_ns), network.at(limits_.network_bytes_per_ns)}};
  for (const LinkTime& link : result.links)
    result.alone_ns = std::max({result.alone_ns, link.send_ns, link.receive_ns});
  return result;
}

}  // namespace underlap::sim
