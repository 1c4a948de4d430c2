// SPDX-License-Identifier: Apache-2.0
#include "bench/ranks/rank_process.hpp"

#include <fmt/format.h>

#include <chrono>
#include <utility>

namespace underlap::bench {
namespace {

constexpr std::chrono::seconds kPatienceToSend{60};

}  // namespace

RankProcess::RankProcess(std::int32_t rank, std::unique_ptr<RankLink> link, LineSink sink)
    : rank_(rank), link_(std::move(link)), output_(std::move(sink)) {}

std::string RankProcess::name() const {
  const std::string node = link_->node();
  return fmt::format("rank {}{}{}", rank_, node.empty() ? "" : " on ", node);
}

void RankProcess::order(RankMessage kind, const std::string& payload, std::string task) {
  task_ = std::move(task);
  answer_.reset();
  is_waited_for_ = true;
  link_->channel().send(static_cast<std::uint32_t>(kind), payload, std::chrono::steady_clock::now() + kPatienceToSend);
}

void RankProcess::take_answer(Message answer) {
  answer_ = std::move(answer);
  is_waited_for_ = false;
}

}  // namespace underlap::bench
