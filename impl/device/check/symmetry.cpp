// SPDX-License-Identifier: Apache-2.0
#include "impl/device/check/checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace underlap::check {
namespace {

using Type = ProgramCommand::Type;

// The values of both ranks at the first difference.
struct Difference {
  std::string what;  // of the compared rank
  std::string where_other_has;
};
using MaybeDifference = std::optional<Difference>;

std::string_view to_string(Access access) {
  return access == Access::in ? "in" : access == Access::out ? "out" : "inout";
}

bool has_shape_of(const View& a, const View& b) {
  return a.tensor.id == b.tensor.id && a.rows == b.rows && a.cols == b.cols &&
         a.leading_dimension == b.leading_dimension;
}

std::string shape_text(const Program& program, const View& view) {
  if (view.tensor.id == 0) return "nothing";
  return fmt::format("{} [{}, {}]", program.tensors.at(view.tensor.id - 1).name, view.rows, view.cols);
}

// The commands of a program from its first step.
class Steps {
 public:
  explicit Steps(const ProgramIndex& index) : index_(&index), before_(index.num_streams(), 0) {
    for (std::uint32_t c = 0; c < index.num_commands() && index.command(c).tag.step < 0; ++c)
      if (const Type type = index.command(c).type;
          type == Type::launch || type == Type::upload || type == Type::communicate)
        first_ = c + 1;
    for (std::uint32_t c = 0; c < first_; ++c)
      if (index.command(c).is_on_stream()) before_[index.command(c).stream] = index.position(c);
  }

  std::uint32_t size() const { return index_->num_commands() - first_; }
  std::uint32_t number(std::uint32_t i) const { return first_ + i; }
  const ProgramCommand& operator[](std::uint32_t i) const { return index_->command(first_ + i); }
  const Program& program() const { return index_->program(); }

  // Counted from the first command of the first step.
  std::uint32_t awaited_position(const ProgramCommand& command) const {
    const std::uint32_t position = index_->awaited_position(command);
    return position - std::min(position, before_[command.awaited_stream]);
  }

 private:
  const ProgramIndex* index_;
  std::uint32_t first_ = 0;
  std::vector<std::uint32_t> before_;  // by stream: commands before the first step
};

MaybeDifference views_differ(const Program& program, const Program& other, std::string_view role, const View& a,
                             const View& b) {
  if (has_shape_of(a, b)) return std::nullopt;
  return Difference{fmt::format("{} {}", role, shape_text(program, a)), shape_text(other, b)};
}

MaybeDifference transfers_differ(const Program& program, const Program& other, const Transfer& a, const Transfer& b) {
  using underlap::to_string;
  if (a.collective != b.collective)
    return Difference{std::string(to_string(a.collective)), std::string(to_string(b.collective))};
  if (auto difference = views_differ(program, other, "input", a.input, b.input)) return difference;
  return views_differ(program, other, "output", a.output, b.output);
}

MaybeDifference uses_differ(const Program& program, const Program& other, const Use& a, const Use& b) {
  if (a.access != b.access)
    return Difference{fmt::format("{} as {}", shape_text(program, a.view), to_string(a.access)),
                      std::string(to_string(b.access))};
  return views_differ(program, other, to_string(a.access), a.view, b.view);
}

template <class Part, class Compare>
MaybeDifference parts_differ(std::string_view noun, std::span<const Part> a, std::span<const Part> b, Compare compare) {
  if (a.size() != b.size()) return Difference{fmt::format("{} {}", a.size(), noun), fmt::format("{}", b.size())};
  for (std::size_t i = 0; i < a.size(); ++i)
    if (auto difference = compare(a[i], b[i])) return difference;
  return std::nullopt;
}

MaybeDifference commands_differ(const Steps& mine, const Steps& theirs, const ProgramCommand& a,
                                const ProgramCommand& b) {
  const Program& program = mine.program();
  const Program& other = theirs.program();
  if (a.type != b.type || a.stream != b.stream || a.name != b.name || a.tag != b.tag)
    return Difference{"this", describe(other, b)};
  if (a.bytes != b.bytes) return Difference{fmt::format("{} bytes", a.bytes), fmt::format("{}", b.bytes)};
  if (awaits_position(a) &&
      (a.awaited_stream != b.awaited_stream || mine.awaited_position(a) != theirs.awaited_position(b)))
    return Difference{
        fmt::format("{} commands of {}", mine.awaited_position(a), program.streams[a.awaited_stream].name),
        fmt::format("{} of {}", theirs.awaited_position(b), other.streams[b.awaited_stream].name)};
  auto difference = parts_differ("uses", program.uses(a), other.uses(b),
                                 [&](const Use& x, const Use& y) { return uses_differ(program, other, x, y); });
  if (difference) return difference;
  return parts_differ("transfers", program.transfers(a), other.transfers(b),
                      [&](const Transfer& x, const Transfer& y) { return transfers_differ(program, other, x, y); });
}

std::optional<Finding> compare(std::span<const ProgramIndex> ranks, std::int32_t rank, std::int32_t other) {
  const Steps mine(ranks[static_cast<std::size_t>(rank)]);
  const Steps theirs(ranks[static_cast<std::size_t>(other)]);
  Finding finding{
      .kind = FindingKind::asymmetry,
      .commands = {},
      .what = {},
      .remedy = "enqueue the same commands, on views of the same shape, on all ranks of a data-parallel group"};
  for (std::uint32_t i = 0; i < std::min(mine.size(), theirs.size()); ++i) {
    const auto difference = commands_differ(mine, theirs, mine[i], theirs[i]);
    if (!difference) continue;
    finding.commands = {{rank, mine.number(i)}, {other, theirs.number(i)}};
    finding.what = fmt::format("{} has {} where rank {} has {}", text_with_rank(ranks, finding.commands[0]),
                               difference->what, other, difference->where_other_has);
    return finding;
  }
  if (mine.size() == theirs.size()) return std::nullopt;
  const bool is_longer = mine.size() > theirs.size();
  const Steps& longer = is_longer ? mine : theirs;
  finding.commands = {{is_longer ? rank : other, longer.number(std::min(mine.size(), theirs.size()))}};
  finding.what = fmt::format("{} has no counterpart: rank {} has ended", text_with_rank(ranks, finding.commands[0]),
                             is_longer ? other : rank);
  return finding;
}

// By rank, the channels of data-parallel transfers.
std::vector<std::set<std::uint32_t>> channels_of(std::span<const ProgramIndex> ranks, const Matching& matching) {
  std::vector<std::set<std::uint32_t>> channels(ranks.size());
  for (const Exchange& exchange : matching.exchanges)
    for (const Party& party : exchange.parties) {
      if (!party.comes()) continue;
      const auto rank = static_cast<std::size_t>(party.rank);
      if (ranks[rank].command(party.command).tag.mode == Mode::dp) channels[rank].insert(exchange.channel);
    }
  return channels;
}

bool meet(const std::set<std::uint32_t>& a, const std::set<std::uint32_t>& b) {
  return std::any_of(a.begin(), a.end(), [&](std::uint32_t channel) { return b.contains(channel); });
}

bool parts_work(Mode mode) { return mode == Mode::tp || mode == Mode::pp || mode == Mode::cp || mode == Mode::ep; }

// By communicator number, the rank's index in each group whose members do different work.
std::map<std::uint32_t, std::int32_t> places_of(const Program& program) {
  std::map<std::uint32_t, std::int32_t> places;
  for (const ProgramCommand& command : program.commands)
    if (command.type == Type::communicate && parts_work(command.tag.mode))
      places[command.communicator] = program.communicators[command.communicator].group.my_index;
  return places;
}

}  // namespace

std::vector<Finding> check_symmetry(std::span<const ProgramIndex> ranks, const Matching& matching) {
  const auto replicas = channels_of(ranks, matching);
  std::vector<std::map<std::uint32_t, std::int32_t>> places;
  for (const ProgramIndex& rank : ranks) places.push_back(places_of(rank.program()));
  std::vector<Finding> findings;
  for (std::size_t rank = 1; rank < ranks.size(); ++rank) {
    // One comparison is enough: the other members of the group were compared with the same rank.
    for (std::size_t other = 0; other < rank; ++other) {
      if (!meet(replicas[rank], replicas[other]) || places[rank] != places[other]) continue;
      if (auto finding = compare(ranks, static_cast<std::int32_t>(rank), static_cast<std::int32_t>(other)))
        findings.push_back(std::move(*finding));
      break;
    }
  }
  return findings;
}

}  // namespace underlap::check
