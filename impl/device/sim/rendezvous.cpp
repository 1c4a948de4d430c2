// SPDX-License-Identifier: Apache-2.0
#include "impl/device/sim/rendezvous.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <stdexcept>

namespace underlap::sim {
namespace {

constexpr std::int32_t kNotSimulated = -2;

// Whether a call sends to `peer` and receives from it, as two members do that swap.
bool swaps(std::span<const Transfer> call, std::int32_t peer) {
  const auto has = [&](Collective way) {
    return std::ranges::any_of(call, [&](const Transfer& t) { return t.collective == way && t.peer == peer; });
  };
  return has(Collective::send) && has(Collective::receive);
}

// Whether two members mean the same collective.
bool agree(const Transfer& a, const Transfer& b) {
  return a.collective == b.collective && dtype_of(a) == dtype_of(b) && a.input.elements() == b.input.elements() &&
         a.output.elements() == b.output.elements() && a.op == b.op && a.accumulator == b.accumulator &&
         (a.collective != Collective::broadcast || a.peer == b.peer);
}

// Whether the collectives among the transfers of two calls agree, one by one.
bool agree(std::span<const Transfer> a, std::span<const Transfer> b) {
  const auto next = [](std::span<const Transfer> rest) {
    return rest.subspan(
        static_cast<std::size_t>(std::ranges::find_if_not(rest, is_message, &Transfer::collective) - rest.begin()));
  };
  for (a = next(a), b = next(b); !a.empty() && !b.empty(); a = next(a.subspan(1)), b = next(b.subspan(1)))
    if (!agree(a.front(), b.front())) return false;
  return a.empty() && b.empty();
}

std::string text_of(const Transfer& t) {
  return fmt::format("{} of {} bytes of {}", to_string(t.collective), message_bytes(t), to_string(dtype_of(t)));
}

std::string text_of(std::int32_t rank, const Program& program, const ProgramCommand& call,
                    std::span<const Transfer> transfers) {
  std::string text = fmt::format("rank {} {}:", rank, describe(program, call));
  for (const Transfer& t : transfers) text += " " + text_of(t);
  return text;
}

std::vector<Transfer> collectives_of(std::span<const Transfer> transfers) {
  std::vector<Transfer> result;
  std::ranges::copy_if(transfers, std::back_inserter(result), std::not_fn(is_message), &Transfer::collective);
  return result;
}

}  // namespace

void Rendezvous::add_rank(std::int32_t rank, const Program& program) {
  std::vector<CommunicatorState>& states = ranks_[rank];
  for (const std::uint32_t channel : channels_.add(program.communicators)) {
    const Group& group = program.communicators[states.size()].group;
    CommunicatorState& state = states.emplace_back();
    state.global = channel;
    std::ranges::copy_if(group.members, std::back_inserter(state.simulated),
                         [this](std::int32_t member) { return is_simulated(member); });
  }
}

bool Rendezvous::is_simulated(std::int32_t rank) const {
  return simulated_.empty() || std::ranges::binary_search(simulated_, rank);
}

Rendezvous::Key Rendezvous::message_key(const CommunicatorState& state, const Program& program,
                                        const ProgramCommand& call, const CallPart& part) const {
  const std::int32_t from = part.members[0], to = part.members[1];
  if (is_simulated(from) && is_simulated(to)) return {state.global, from, to, 0};
  if (state.simulated.size() > 1)
    throw std::invalid_argument(
        fmt::format("{}: {} members of a group that exchanges messages are simulated, must be one or all",
                    describe(program, call), state.simulated.size()));
  const Group& group = program.communicators[call.communicator].group;
  const std::int32_t peer = program.transfers(call)[part.transfers[0]].peer;
  const std::int32_t way = ((part.sends ? peer - group.my_index : group.my_index - peer) + group.size()) % group.size();
  const bool is_swap = swaps(program.transfers(call), peer);
  return {state.global, kNotSimulated, is_swap ? std::min(way, group.size() - way) : way, 0};
}

Rendezvous::FlowId Rendezvous::find(const Key& key, std::int32_t rank, const Program& program,
                                    const ProgramCommand& call, std::uint32_t transfer,
                                    std::span<const std::int32_t> members) {
  const auto known = open_.find(key);
  if (known != open_.end()) {
    flows_[known->second].entered.push_back(rank);
    return known->second;
  }
  auto id = static_cast<FlowId>(flows_.size());
  if (free_.empty()) {
    flows_.emplace_back();
  } else {
    id = free_.back();
    free_.pop_back();
  }
  FlowState& flow = flows_[id];
  flow.key = key;
  flow.members = members;
  flow.entered.assign(1, rank);
  flow.program = &program;
  flow.call = &call;
  flow.transfer = transfer;
  open_.emplace(key, id);
  return id;
}

void Rendezvous::enter(std::int32_t rank, const Program& program, const ProgramCommand& call,
                       std::span<const CallPart> parts, std::vector<Entry>& entries) {
  CommunicatorState& state = ranks_.at(rank).at(call.communicator);
  const std::span<const Transfer> transfers = program.transfers(call);
  entries.clear();
  for (const CallPart& part : parts) {
    if (part.is_collective) {
      const Key key{state.global, -1, -1, state.num_collective_calls++};
      const FlowId flow = find(key, rank, program, call, 0, state.simulated);
      check_collectives(flow, rank, program, call);
      entries.push_back({flow, state.simulated.size()});
      continue;
    }
    Key key = message_key(state, program, call, part);
    key.number = state.num_messages[{key.from, key.to, part.sends}]++;
    const std::uint32_t place = part.transfers[0];
    const FlowId flow = find(key, rank, program, call, place, part.members);
    check_message(flow, rank, program, call, transfers[place]);
    entries.push_back({flow, 2});
  }
}

void Rendezvous::check_message(FlowId id, std::int32_t rank, const Program& program, const ProgramCommand& call,
                               const Transfer& mine) const {
  const FlowState& flow = flows_[id];
  const Transfer& first = flow.program->transfers(*flow.call)[flow.transfer];
  if (message_bytes(first) == message_bytes(mine) && dtype_of(first) == dtype_of(mine)) return;
  throw std::invalid_argument(fmt::format("the two sides of a message do not match: {}; {}",
                                          text_of(flow.entered.front(), *flow.program, *flow.call, {&first, 1}),
                                          text_of(rank, program, call, {&mine, 1})));
}

void Rendezvous::check_collectives(FlowId id, std::int32_t rank, const Program& program,
                                   const ProgramCommand& call) const {
  const FlowState& flow = flows_[id];
  if (flow.call == &call) return;
  const std::span<const Transfer> first = flow.program->transfers(*flow.call), mine = program.transfers(call);
  if (agree(first, mine)) return;
  throw std::invalid_argument(
      fmt::format("the members of a collective do not match: {}; {}",
                  text_of(flow.entered.front(), *flow.program, *flow.call, collectives_of(first)),
                  text_of(rank, program, call, collectives_of(mine))));
}

std::vector<std::int32_t> Rendezvous::missing(FlowId id) const {
  std::vector<std::int32_t> result;
  for (const std::int32_t member : flows_[id].members)
    if (std::count(flows_[id].entered.begin(), flows_[id].entered.end(), member) == 0) result.push_back(member);
  return result;
}

void Rendezvous::forget(FlowId flow) {
  open_.erase(flows_[flow].key);
  free_.push_back(flow);
}

}  // namespace underlap::sim
