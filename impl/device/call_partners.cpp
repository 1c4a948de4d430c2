// SPDX-License-Identifier: Apache-2.0
#include "impl/device/call_partners.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "impl/device/program_matching.hpp"

namespace underlap {
namespace {

std::int32_t rank_of(const Program& program) {
  for (const ProgramCommunicator& c : program.communicators)
    return c.group.members.at(static_cast<std::size_t>(c.group.my_index));
  return -1;
}

void check_ranks(std::span<const Program> programs) {
  std::vector<std::int32_t> ranks;
  for (const Program& program : programs)
    if (const std::int32_t rank = rank_of(program); rank >= 0) ranks.push_back(rank);
  std::ranges::sort(ranks);
  if (const auto twice = std::ranges::adjacent_find(ranks); twice != ranks.end())
    throw std::invalid_argument(fmt::format("rank {} has two programs", *twice));
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

class PartnerSearch {
 public:
  explicit PartnerSearch(std::span<const Program> programs)
      : programs_(programs), matching_(match_transfers(programs)) {}

  std::vector<CallPartner> run() {
    for (const Exchange& exchange : matching_.exchanges)
      for (const Party& party : exchange.parties)
        if (party.comes()) add_partners(exchange, party);
    return std::move(partners_);
  }

 private:
  const ProgramCommand& call(const Party& party) const { return programs_[party.program].commands[party.command]; }

  void add_partners(const Exchange& exchange, const Party& party) {
    const Bytes share = share_of(exchange, party);
    for (std::size_t side = 0; side < exchange.parties.size(); ++side) {
      const Party& other = exchange.parties[side];
      if (other.rank == party.rank) continue;
      if (other.comes())
        partners_.push_back(
            {{party.program, party.command}, {other.program, other.command}, share.sent, share.received});
      else if (is_declared(exchange, side))
        fail(exchange, party);
    }
  }

  // The part of the call's bytes that the exchange takes. All collectives of a call start together.
  Bytes share_of(const Exchange& exchange, const Party& party) const {
    const Program& program = programs_[party.program];
    const std::int32_t group_size = program.group_size(call(party));
    Bytes all, part;
    std::uint32_t t = 0;
    for (const Transfer& transfer : program.transfers(call(party))) {
      const Bytes bytes = bytes_of(transfer, group_size);
      const bool is_part = exchange.is_point_to_point ? t == party.transfer : !is_message(transfer.collective);
      all.sent += bytes.sent, all.received += bytes.received;
      if (is_part) part.sent += bytes.sent, part.received += bytes.received;
      ++t;
    }
    const auto share = [](double bytes, double whole) { return whole > 0 ? bytes / whole : 1; };
    Bytes shares{share(part.sent, all.sent), share(part.received, all.received)};
    const bool is_send = program.transfers(call(party))[party.transfer].collective == Collective::send;
    if (exchange.is_point_to_point) (is_send ? shares.received : shares.sent) = 0;
    return shares;
  }

  // Whether the rank of that side has a program with the communicator. A collective's sides are all members in order;
  // groups are too large to search for each of them.
  bool is_declared(const Exchange& exchange, std::size_t side) const {
    const Channel& channel = matching_.channels[exchange.channel];
    const auto member = exchange.is_point_to_point
                            ? std::ranges::find(channel.members, exchange.parties[side].rank) - channel.members.begin()
                            : static_cast<std::ptrdiff_t>(side);
    return channel.on_member[static_cast<std::size_t>(member)] != Channel::kNotDeclared;
  }

  [[noreturn]] void fail(const Exchange& exchange, const Party& party) const {
    throw std::invalid_argument(fmt::format("{} of rank {} has no matching call on communicator {}",
                                            describe(programs_[party.program], call(party)), party.rank,
                                            matching_.channels[exchange.channel].purpose));
  }

  std::span<const Program> programs_;
  Matching matching_;
  std::vector<CallPartner> partners_;
};

}  // namespace

std::vector<CallPartner> find_call_partners(std::span<const Program> programs) {
  check_ranks(programs);
  return PartnerSearch(programs).run();
}

}  // namespace underlap
