// SPDX-License-Identifier: Apache-2.0
#include "bench/launch/rank_link.hpp"

#include <fmt/format.h>
#include <signal.h>

namespace underlap::bench {

std::string end_text(const ProcessEnd& end) {
  std::string text = end.text();
  if (end.signal == SIGKILL) text += "; the kernel does this when memory runs out (see dmesg)";
  return text;
}

ChildOptions numbered(ChildOptions child, std::int32_t rank) {
  child.arguments.insert(child.arguments.end(), {"--number", fmt::format("{}", rank)});
  return child;
}

ChildLink::ChildLink(std::int32_t rank, const ChildOptions& child)
    : ChildLink(rank, std::make_unique<ChildProcess>(numbered(child, rank))) {}

ChildLink::ChildLink(std::int32_t rank, std::unique_ptr<ChildProcess> child)
    : RankLink(MessageChannel(child->take_channel(), fmt::format("rank {}", rank))), child_(std::move(child)) {}

std::optional<std::string> ChildLink::end(std::chrono::milliseconds timeout) {
  const std::optional<ProcessEnd> end = child_->wait_for_end(timeout);
  return end ? std::optional(end_text(*end)) : std::nullopt;
}

std::vector<std::unique_ptr<RankLink>> ChildStarter::start(std::int32_t num_ranks, const ChildOptions& child) {
  std::vector<std::unique_ptr<RankLink>> links;
  for (std::int32_t rank = 0; rank < num_ranks; ++rank) links.push_back(std::make_unique<ChildLink>(rank, child));
  return links;
}

}  // namespace underlap::bench
