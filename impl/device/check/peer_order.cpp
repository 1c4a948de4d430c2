// SPDX-License-Identifier: Apache-2.0
#include "impl/device/check/checks.hpp"

namespace underlap::check {
namespace {

using Type = ProgramCommand::Type;

// Everything that must have ended before a command starts, found backwards from it. Earlier commands of a stream
// precede later ones, so one position for each rank and stream is enough.
class Past {
 public:
  Past(std::span<const ProgramIndex> ranks, const Matching& matching) : ranks_(ranks), matching_(matching) {
    for (const ProgramIndex& index : ranks) {
      reached_.emplace_back(index.num_streams(), 0);
      host_reached_.push_back(0);
    }
  }

  void add_before(const CommandPlace& place) {
    add_causes(place.rank, place.index, false);
    while (!open_.empty()) {
      const auto [rank, stream, from, to] = open_.back();
      open_.pop_back();
      const auto on_stream = ranks_[static_cast<std::size_t>(rank)].on_stream(stream);
      for (std::uint32_t p = from; p < to; ++p) add_causes(rank, on_stream[p], true);
    }
  }

  std::uint32_t reached(std::int32_t rank, std::uint32_t stream) const {
    return reached_[static_cast<std::size_t>(rank)][stream];
  }

 private:
  struct Range {
    std::int32_t rank;
    std::uint32_t stream, from, to;  // positions: after `from`, up to `to`
  };

  void reach(std::int32_t rank, std::uint32_t stream, std::uint32_t position) {
    std::uint32_t& known = reached_[static_cast<std::size_t>(rank)][stream];
    if (position <= known) return;
    open_.push_back({rank, stream, known, position});
    known = position;
  }

  // Adds the commands before a command. If its end counts and not only its start, adds the peers that it exchanges
  // with.
  void add_causes(std::int32_t rank, std::uint32_t c, bool to_its_end) {
    const ProgramIndex& index = ranks_[static_cast<std::size_t>(rank)];
    const ProgramCommand& command = index.command(c);
    reach_host(rank, c);
    if (command.is_on_stream()) reach(rank, command.stream, index.position(c) - 1);
    if (command.type == Type::wait) reach(rank, command.awaited_stream, index.awaited_position(command));
    if (!to_its_end) return;
    for (const std::uint32_t e : matching_.of_command[static_cast<std::size_t>(rank)][c])
      for (std::size_t side = 0; side < matching_.exchanges[e].parties.size(); ++side) reach_peer(rank, e, side);
  }

  void reach_peer(std::int32_t rank, std::uint32_t e, std::size_t side) {
    const Party& party = matching_.exchanges[e].parties[side];
    if (party.rank == rank || !party.comes()) return;
    const ProgramIndex& peer = ranks_[static_cast<std::size_t>(party.rank)];
    const Transfer& transfer = peer.program().transfers(peer.command(party.command))[party.transfer];
    const bool gives = transfer.collective == Collective::broadcast ? transfer.peer == static_cast<std::int32_t>(side)
                                                                    : transfer.collective != Collective::receive;
    if (gives) add_causes(party.rank, party.command, false);
  }

  // Adds everything that the host waited for before it enqueued the command.
  void reach_host(std::int32_t rank, std::uint32_t c) {
    const ProgramIndex& index = ranks_[static_cast<std::size_t>(rank)];
    std::uint32_t& known = host_reached_[static_cast<std::size_t>(rank)];
    for (; known < c; ++known) {
      if (index.command(known).type != Type::synchronize) continue;
      index.visit_awaited(known, [&](std::uint32_t stream, std::uint32_t position) { reach(rank, stream, position); });
    }
  }

  std::span<const ProgramIndex> ranks_;
  const Matching& matching_;
  std::vector<std::vector<std::uint32_t>> reached_;  // by rank and stream: position up to which all has ended
  std::vector<std::uint32_t> host_reached_;          // by rank: commands whose enqueuing is past
  std::vector<Range> open_;
};

}  // namespace

bool is_ordered_by_peers(std::span<const ProgramIndex> ranks, const Matching& matching, const CommandPlace& earlier,
                         const CommandPlace& later) {
  const ProgramIndex& index = ranks[static_cast<std::size_t>(earlier.rank)];
  Past past(ranks, matching);
  past.add_before(later);
  return past.reached(earlier.rank, index.command(earlier.index).stream) >= index.position(earlier.index);
}

}  // namespace underlap::check
