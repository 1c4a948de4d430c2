// SPDX-License-Identifier: Apache-2.0
#include "impl/device/meetings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

namespace underlap {
namespace {

/// One end of a message: of a send or receive, or of a collective.
struct End {
  CommandAt at;
  double sent = 0;  ///< share of the call's bytes
  double received = 0;
};

/// A communicator as all its members see it.
struct Channel {
  std::map<std::int32_t, std::vector<End>> collectives;  ///< by member that has a program, in the order of the calls
  std::map<std::pair<std::int32_t, std::int32_t>, std::vector<End>> sends, receives;  ///< by (from, to)
  std::vector<std::int32_t> present;
};

using ChannelKey = std::tuple<std::string, std::vector<std::int32_t>, std::int32_t>;

std::int32_t rank_of(const Program& program) {
  for (const ProgramCommunicator& c : program.communicators)
    return c.group.members.at(static_cast<std::size_t>(c.group.my_index));
  return -1;
}

struct Bytes {
  double sent = 0;
  double received = 0;
};

Bytes bytes_of(const Transfer& t, std::int32_t group_size) {
  const auto bytes = static_cast<double>(bytes_on_wire(t, group_size));
  if (t.collective == Collective::receive) return {0, static_cast<double>(t.output.bytes())};
  return {bytes, t.collective == Collective::send ? 0 : bytes};
}

class Matcher {
 public:
  explicit Matcher(std::span<const Program> programs) : programs_(programs) {
    check_ranks();
    for (std::uint32_t p = 0; p < programs.size(); ++p) {
      const std::vector<Channel*> channels = channels_of(programs[p]);
      for (std::uint32_t c = 0; c < programs[p].commands.size(); ++c)
        if (programs[p].commands[c].type == ProgramCommand::Type::communicate)
          add_call({p, c}, *channels[programs[p].commands[c].communicator]);
    }
  }

  std::vector<Meeting> meetings() && {
    for (auto& [key, channel] : channels_) {
      meet_in_collectives(std::get<0>(key), channel);
      meet_in_messages(std::get<0>(key), channel);
    }
    return std::move(meetings_);
  }

 private:
  void check_ranks() const {
    std::vector<std::int32_t> ranks;
    for (const Program& program : programs_)
      if (const std::int32_t rank = rank_of(program); rank >= 0) ranks.push_back(rank);
    std::sort(ranks.begin(), ranks.end());
    if (const auto twice = std::adjacent_find(ranks.begin(), ranks.end()); twice != ranks.end())
      throw std::invalid_argument(fmt::format("rank {} has two programs", *twice));
  }

  std::vector<Channel*> channels_of(const Program& program) {
    std::map<std::pair<std::string, std::vector<std::int32_t>>, std::int32_t> seen;
    std::vector<Channel*> channels;
    for (const ProgramCommunicator& c : program.communicators) {
      const std::int32_t twin = seen[{c.purpose, c.group.members}]++;
      channels.push_back(&channels_[{c.purpose, c.group.members, twin}]);
      channels.back()->present.push_back(c.group.my_index);
    }
    return channels;
  }

  void add_call(CommandAt at, Channel& channel) {
    const Program& program = programs_[at.program];
    const ProgramCommand& command = program.commands[at.command];
    const Group& group = program.communicators[command.communicator].group;
    const auto each = [&](auto&& visit) {
      for (const Transfer& t : program.transfers(command)) visit(t, bytes_of(t, group.size()));
    };
    Bytes all;
    each([&](const Transfer&, const Bytes& b) { all.sent += b.sent, all.received += b.received; });
    const auto share = [](double part, double whole) { return whole > 0 ? part / whole : 1; };
    Bytes collective;
    bool has_collective = false;
    each([&](const Transfer& t, const Bytes& b) {
      const End end{at, share(b.sent, all.sent), share(b.received, all.received)};
      if (t.collective == Collective::send)
        channel.sends[{group.my_index, t.peer}].push_back({at, end.sent, 0});
      else if (t.collective == Collective::receive)
        channel.receives[{t.peer, group.my_index}].push_back({at, 0, end.received});
      else
        has_collective = true, collective.sent += b.sent, collective.received += b.received;
    });
    if (has_collective)
      channel.collectives[group.my_index].push_back(
          {at, share(collective.sent, all.sent), share(collective.received, all.received)});
  }

  void add(const End& call, const End& partner) {
    meetings_.push_back({call.at, partner.at, call.sent, call.received});
  }

  [[noreturn]] void fail(const std::string& purpose, const End& call) const {
    const Program& program = programs_[call.at.program];
    throw std::invalid_argument(fmt::format("{} of rank {} finds no partner on the communicator {}",
                                            describe(program, program.commands[call.at.command]), rank_of(program),
                                            purpose));
  }

  void meet_in_collectives(const std::string& purpose, const Channel& channel) {
    for (const auto& [member, calls] : channel.collectives)
      for (const std::int32_t other : channel.present) {
        if (other == member) continue;
        const auto others = channel.collectives.find(other);
        const std::size_t count = others == channel.collectives.end() ? 0 : others->second.size();
        if (count < calls.size()) fail(purpose, calls[count]);
        for (std::size_t i = 0; i < calls.size(); ++i) add(calls[i], others->second[i]);
      }
  }

  void meet_in_messages(const std::string& purpose, const Channel& channel) {
    const auto is_present = [&](std::int32_t member) {
      return std::find(channel.present.begin(), channel.present.end(), member) != channel.present.end();
    };
    const auto meet = [&](const auto& mine, const auto& theirs, bool is_send) {
      for (const auto& [pair, calls] : mine) {
        if (!is_present(is_send ? pair.second : pair.first)) continue;
        const auto found = theirs.find(pair);
        const std::size_t count = found == theirs.end() ? 0 : found->second.size();
        if (count < calls.size()) fail(purpose, calls[count]);
        for (std::size_t i = 0; i < calls.size(); ++i) add(calls[i], found->second[i]);
      }
    };
    meet(channel.sends, channel.receives, true);
    meet(channel.receives, channel.sends, false);
  }

  std::span<const Program> programs_;
  std::map<ChannelKey, Channel> channels_;
  std::vector<Meeting> meetings_;
};

}  // namespace

std::vector<Meeting> find_meetings(std::span<const Program> programs) { return Matcher(programs).meetings(); }

}  // namespace underlap
