// SPDX-License-Identifier: Apache-2.0
#include "impl/cp/communicators.hpp"

#include <utility>

namespace underlap::cp {

Communicators::Communicators(Device& device, const Group& group, Stream compute, const plan::Config& config)
    : whole_(this), device_(device), group_(group), compute_(compute), nccl_priority_(nccl_priority(config)) {}

Communicators::Communicators(Communicators& whole, const Group& group, std::string name)
    : whole_(whole.whole_),
      device_(whole.device_),
      group_(group),
      compute_(whole.compute_),
      nccl_priority_(whole.nccl_priority_),
      name_(std::move(name)) {}

Stream Communicators::second_compute() {
  if (whole_ != this) return whole_->second_compute();
  if (!std::exchange(has_second_compute_, true)) second_compute_ = device_.create_stream("cp_compute");
  return second_compute_;
}

Communicator Communicators::declare(std::string_view suffix) {
  const std::string purpose = name_ + std::string(suffix);
  if (const auto found = declared_.find(purpose); found != declared_.end()) return found->second;
  return declared_.emplace(purpose, device_.declare(purpose, group_, {.priority = nccl_priority_})).first->second;
}

Communicator Communicators::collectives() { return declare(""); }
Communicator Communicators::ring() { return declare("_ring"); }

Communicators::Parts Communicators::parts(std::int32_t ranks_inside) {
  auto& [inside, around] = parts_[ranks_inside];
  if (inside == nullptr) {
    Group row{.members = {}, .my_index = group_.my_index % ranks_inside};
    Group column{.members = {}, .my_index = group_.my_index / ranks_inside};
    for (std::int32_t i = 0; i < group_.size(); ++i) {
      const std::int32_t member = group_.members[static_cast<std::size_t>(i)];
      if (i / ranks_inside == column.my_index) row.members.push_back(member);
      if (i % ranks_inside == row.my_index) column.members.push_back(member);
    }
    inside.reset(new Communicators(*this, row, name_ + "_a2a"));
    around.reset(new Communicators(*this, column, name_ + "_around"));
  }
  return {inside.get(), around.get()};
}

}  // namespace underlap::cp
