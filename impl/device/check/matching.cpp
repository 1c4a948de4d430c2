// SPDX-License-Identifier: Apache-2.0
#include "impl/device/check/matching.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace underlap::check {

bool Exchange::is_complete() const {
  return std::none_of(parties.begin(), parties.end(), [](const Party& p) { return p.command == Party::kNever; });
}

namespace {

class Matcher {
 public:
  explicit Matcher(std::span<const ProgramIndex> ranks) : ranks_(ranks) {}

  Matching run() {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) find_channels(static_cast<std::int32_t>(rank));
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) match_transfers(static_cast<std::int32_t>(rank));
    return std::move(matching_);
  }

 private:
  using ChannelKey = std::tuple<std::string, std::vector<std::int32_t>, std::int32_t>;
  // Channel, sender, receiver (-1 and -1: a collective), and the how-manieth.
  using ExchangeKey = std::tuple<std::uint32_t, std::int32_t, std::int32_t, std::uint32_t>;

  void find_channels(std::int32_t rank) {
    const Program& program = ranks_[static_cast<std::size_t>(rank)].program();
    std::map<std::pair<std::string, std::vector<std::int32_t>>, std::int32_t> num_declared;
    std::vector<std::uint32_t>& own = channel_of_.emplace_back();
    for (std::uint32_t c = 0; c < program.communicators.size(); ++c) {
      const auto& [purpose, group, hints, stream] = program.communicators[c];
      check_group(rank, purpose, group);
      const std::int32_t nth = num_declared[{purpose, group.members}]++;
      const auto [entry, is_new] = channels_.emplace(ChannelKey{purpose, group.members, nth},
                                                     static_cast<std::uint32_t>(matching_.channels.size()));
      if (is_new)
        matching_.channels.push_back(
            {purpose, group.members, std::vector<std::uint32_t>(group.members.size(), Channel::kNotDeclared)});
      own.push_back(entry->second);
      for (std::size_t i = 0; i < group.members.size(); ++i)
        if (group.members[i] == rank) matching_.channels[entry->second].on_member[i] = c;
    }
  }

  void check_group(std::int32_t rank, const std::string& purpose, const Group& group) const {
    for (const std::int32_t member : group.members)
      if (member < 0 || static_cast<std::size_t>(member) >= ranks_.size())
        throw std::invalid_argument(
            fmt::format("{} has rank {} as a member; there are {} programs", purpose, member, ranks_.size()));
    if (group.my_index < 0 || group.my_index >= group.size() ||
        group.members[static_cast<std::size_t>(group.my_index)] != rank)
      throw std::invalid_argument(
          fmt::format("rank {} declares {} as member {}, which it is not", rank, purpose, group.my_index));
  }

  void match_transfers(std::int32_t rank) {
    const ProgramIndex& index = ranks_[static_cast<std::size_t>(rank)];
    std::map<ExchangeKey, std::uint32_t> num_seen;  // with 0 as the how-manieth
    auto& of_command = matching_.of_command.emplace_back(index.num_commands());
    for (std::uint32_t c = 0; c < index.num_commands(); ++c) {
      std::uint32_t t = 0;
      for (const Transfer& transfer : index.program().transfers(index.command(c))) {
        // Nobody can answer a transfer with a peer that is none: it is reported, and taken as done.
        if (has_peer(transfer, index.program().communicators[index.command(c).communicator].group))
          of_command[c].push_back(join(rank, c, t, transfer, num_seen));
        ++t;
      }
    }
  }

  static bool has_peer(const Transfer& t, const Group& group) {
    if (t.collective != Collective::send && t.collective != Collective::receive) return true;
    return t.peer >= 0 && t.peer < group.size() && t.peer != group.my_index;
  }

  std::uint32_t join(std::int32_t rank, std::uint32_t command, std::uint32_t t, const Transfer& transfer,
                     std::map<ExchangeKey, std::uint32_t>& num_seen) {
    const ProgramIndex& index = ranks_[static_cast<std::size_t>(rank)];
    const std::uint32_t communicator = index.command(command).communicator;
    const std::uint32_t channel = channel_of_[static_cast<std::size_t>(rank)].at(communicator);
    const std::int32_t me = index.program().communicators[communicator].group.my_index;
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
    matching_.exchanges[e].parties.at(side) = {rank, command, t};
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
        made.parties.push_back({members.at(static_cast<std::size_t>(side)), Party::kNever, 0});
    } else {
      for (const std::int32_t member : members) made.parties.push_back({member, Party::kNever, 0});
    }
    return entry->second;
  }

  std::span<const ProgramIndex> ranks_;
  Matching matching_;
  std::map<ChannelKey, std::uint32_t> channels_;
  std::map<ExchangeKey, std::uint32_t> exchanges_;
  std::vector<std::vector<std::uint32_t>> channel_of_;  // by rank and communicator
};

}  // namespace

Matching match(std::span<const ProgramIndex> ranks) { return Matcher(ranks).run(); }

}  // namespace underlap::check
