// SPDX-License-Identifier: Apache-2.0
#include "impl/device/cuda/store_control_plane.hpp"

#include <fmt/format.h>

#include <cstring>

#include "platform/errors.hpp"

namespace underlap::cuda {

void StoreControlPlane::broadcast(std::string_view what, const Group& group, std::span<std::byte> bytes) {
  const std::int32_t rank = group.members[static_cast<std::size_t>(group.my_index)];
  const std::string call = fmt::format("broadcast-{}.{}", fmt::join(group.members, "-"), num_calls_[group.members]++);
  // A member's key marks its presence; the first member's key holds the data.
  std::vector<std::string> keys;
  for (std::int32_t i = 0; i < group.size(); ++i) keys.push_back(fmt::format("{}.{}", call, i));
  const std::string_view said =
      group.my_index == 0 ? std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()) : "";
  store_.put(keys[static_cast<std::size_t>(group.my_index)], said);
  const std::vector<std::optional<std::string>> values = store_.get(keys, timeout_);
  if (const auto why = failure()) throw MachineError(*why);
  std::vector<std::int32_t> missing;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!values[i]) missing.push_back(group.members[i]);
  if (!missing.empty())
    throw MachineError(fmt::format("rank {}: {} waited {} ms for rank {} (run.peer_timeout_s)", rank, what,
                                   timeout_.count(), fmt::join(missing, ", ")));
  if (values.front()->size() != bytes.size())
    throw MachineError(fmt::format("rank {}: {}: the first member sent {} bytes, {} were expected", rank, what,
                                   values.front()->size(), bytes.size()));
  std::memcpy(bytes.data(), values.front()->data(), bytes.size());
}

void StoreControlPlane::fail(std::int32_t rank, std::string_view why) noexcept {
  const std::string prefix = fmt::format("rank {}: ", rank);
  const std::string text = why.starts_with(prefix) ? std::string(why) : prefix + std::string(why);
  {
    const std::lock_guard lock(mutex_);
    if (failure_) return;
    failure_ = text;
  }
  store_.fail(text);
}

std::optional<std::string> StoreControlPlane::failure() {
  const std::lock_guard lock(mutex_);
  return failure_;
}

}  // namespace underlap::cuda
