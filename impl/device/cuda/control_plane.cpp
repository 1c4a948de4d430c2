// SPDX-License-Identifier: Apache-2.0
#include "impl/device/cuda/control_plane.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "platform/errors.hpp"

namespace underlap::cuda {

// One broadcast for each member, in a group rotated so that this member comes first.
std::vector<std::vector<std::byte>> all_gather(ControlPlane& control, std::string_view what, const Group& group,
                                               std::span<const std::byte> bytes) {
  std::vector<std::vector<std::byte>> all;
  for (std::int32_t i = 0; i < group.size(); ++i) {
    Group turned = group;
    std::rotate(turned.members.begin(), turned.members.begin() + i, turned.members.end());
    turned.my_index = (group.my_index - i + group.size()) % group.size();
    std::vector<std::byte>& said = all.emplace_back(bytes.begin(), bytes.end());
    control.broadcast(what, turned, said);
  }
  return all;
}

void ThreadControlPlane::broadcast(std::string_view what, const Group& group, std::span<std::byte> bytes) {
  const std::int32_t rank = group.members[static_cast<std::size_t>(group.my_index)];
  std::unique_lock lock(mutex_);
  const std::uint64_t which = num_calls_[{group.members, group.my_index}]++;
  Exchange& exchange = exchanges_[{group.members, which}];
  exchange.present.insert(group.my_index);
  if (group.my_index == 0) exchange.bytes.assign(bytes.begin(), bytes.end());
  changed_.notify_all();
  const auto is_over = [&] {
    return failure_.has_value() || static_cast<std::int32_t>(exchange.present.size()) == group.size();
  };
  const bool in_time = changed_.wait_for(lock, timeout_, is_over);
  if (failure_) throw MachineError(*failure_);
  if (!in_time) {
    std::vector<std::int32_t> missing;
    for (std::int32_t i = 0; i < group.size(); ++i)
      if (!exchange.present.contains(i)) missing.push_back(group.members[static_cast<std::size_t>(i)]);
    throw MachineError(fmt::format("rank {}: {} waited {} ms for rank {} (run.peer_timeout_s)", rank, what,
                                   timeout_.count(), fmt::join(missing, ", ")));
  }
  std::copy_n(exchange.bytes.begin(), bytes.size(), bytes.begin());
}

void ThreadControlPlane::fail(std::int32_t rank, std::string_view why) noexcept {
  const std::lock_guard lock(mutex_);
  const std::string prefix = fmt::format("rank {}: ", rank);
  if (!failure_) failure_ = why.starts_with(prefix) ? std::string(why) : prefix + std::string(why);
  changed_.notify_all();
}

std::optional<std::string> ThreadControlPlane::failure() {
  const std::lock_guard lock(mutex_);
  return failure_;
}

}  // namespace underlap::cuda
