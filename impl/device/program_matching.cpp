// SPDX-License-Identifier: Apache-2.0
#include "impl/device/program_matching.hpp"

#include <utility>

namespace underlap {
namespace {

class Matcher {
 public:
  explicit Matcher(std::span<const Program> programs) : programs_(programs) {}

  Matching run() {
    for (const Program& program : programs_) find_channels(program);
    for (std::uint32_t p = 0; p < programs_.size(); ++p) match_transfers(p);
    return std::move(matching_);
  }

 private:
  // Channel, sender, receiver (-1 and -1: a collective), and the how-manieth.
  using ExchangeKey = std::tuple<std::uint32_t, std::int32_t, std::int32_t, std::uint32_t>;

  void find_channels(const Program& program) {
    const std::vector<std::uint32_t>& own = channel_of_.emplace_back(numbers_.add(program.communicators));
    for (std::uint32_t c = 0; c < own.size(); ++c) {
      const auto& [purpose, group, hints, stream] = program.communicators[c];
      if (own[c] == matching_.channels.size())
        matching_.channels.push_back(
            {purpose, group.members, std::vector<std::uint32_t>(group.members.size(), Channel::kNotDeclared)});
      matching_.channels[own[c]].on_member.at(static_cast<std::size_t>(group.my_index)) = c;
    }
  }

  void match_transfers(std::uint32_t p) {
    const Program& program = programs_[p];
    std::map<ExchangeKey, std::uint32_t> num_seen;  // with 0 as the how-manieth
    auto& of_command = matching_.of_command.emplace_back(program.commands.size());
    for (std::uint32_t c = 0; c < program.commands.size(); ++c) {
      std::uint32_t t = 0;
      for (const Transfer& transfer : program.transfers(program.commands[c])) {
        // A transfer whose peer does not exist has no match: it is reported, and counts as done.
        if (has_peer(transfer, program.communicators[program.commands[c].communicator].group))
          of_command[c].push_back(join(p, c, t, transfer, num_seen));
        ++t;
      }
    }
  }

  static bool has_peer(const Transfer& t, const Group& group) {
    if (!is_message(t.collective)) return true;
    return t.peer >= 0 && t.peer < group.size() && t.peer != group.my_index;
  }

  std::uint32_t join(std::uint32_t p, std::uint32_t command, std::uint32_t t, const Transfer& transfer,
                     std::map<ExchangeKey, std::uint32_t>& num_seen) {
    const std::uint32_t communicator = programs_[p].commands[command].communicator;
    const std::uint32_t channel = channel_of_[p].at(communicator);
    const std::int32_t me = programs_[p].communicators[communicator].group.my_index;
    const bool is_send = transfer.collective == Collective::send;
    const bool is_receive = transfer.collective == Collective::receive;
    ExchangeKey key{channel,
                    is_send      ? me
                    : is_receive ? transfer.peer
                                 : -1,
                    is_send      ? transfer.peer
                    : is_receive ? me
                                 : -1,
                    0};
    std::get<3>(key) = num_seen[key]++;
    const std::uint32_t e = exchange(key);
    const auto side = is_send ? 0U : is_receive ? 1U : static_cast<std::uint32_t>(me);
    Party& party = matching_.exchanges[e].parties.at(side);
    party = {party.rank, p, command, t};
    return e;
  }

  std::uint32_t exchange(const ExchangeKey& key) {
    const auto [entry, is_new] = exchanges_.emplace(key, static_cast<std::uint32_t>(matching_.exchanges.size()));
    if (!is_new) return entry->second;
    const auto& [channel, sender, receiver, nth] = key;
    const std::vector<std::int32_t>& members = matching_.channels[channel].members;
    Exchange& made = matching_.exchanges.emplace_back();
    made.channel = channel;
    made.is_point_to_point = sender >= 0 || receiver >= 0;
    if (made.is_point_to_point) {
      for (const std::int32_t side : {sender, receiver})
        made.parties.push_back({.rank = members.at(static_cast<std::size_t>(side))});
    } else {
      for (const std::int32_t member : members) made.parties.push_back({.rank = member});
    }
    return entry->second;
  }

  std::span<const Program> programs_;
  Matching matching_;
  ChannelNumbers numbers_;
  std::map<ExchangeKey, std::uint32_t> exchanges_;
  std::vector<std::vector<std::uint32_t>> channel_of_;  // by program and communicator
};

}  // namespace

std::vector<std::uint32_t> ChannelNumbers::add(std::span<const ProgramCommunicator> communicators) {
  std::map<std::pair<std::string, std::vector<std::int32_t>>, std::int32_t> num_declared;
  std::vector<std::uint32_t> numbers;
  for (const ProgramCommunicator& c : communicators) {
    const std::int32_t nth = num_declared[{c.purpose, c.group.members}]++;
    const auto next = static_cast<std::uint32_t>(numbers_.size());
    numbers.push_back(numbers_.try_emplace({c.purpose, c.group.members, nth}, next).first->second);
  }
  return numbers;
}

Matching match_transfers(std::span<const Program> programs) { return Matcher(programs).run(); }

}  // namespace underlap
