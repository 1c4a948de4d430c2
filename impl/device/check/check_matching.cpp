// SPDX-License-Identifier: Apache-2.0
#include "impl/device/check/checks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include "impl/device/check/precedence.hpp"

namespace underlap::check {
namespace {

std::string size_of_message(const Transfer& t) {
  const bool is_receive = t.collective == Collective::receive;
  const View& view = is_receive ? t.output : t.input;
  if (is_message(t.collective)) return fmt::format("{} {} elements", view.elements(), to_string(view.tensor.dtype));
  return fmt::format("{} to {} {} elements", view.elements(), t.output.elements(), to_string(view.tensor.dtype));
}

std::string_view name_of(Accumulator accumulator) { return accumulator == Accumulator::wire ? "wire" : "fp32"; }

// The first property in which `a` and `b` differ, as text for both; nullopt if they match.
std::optional<std::pair<std::string, std::string>> difference(const Transfer& a, const Transfer& b) {
  using underlap::to_string;
  const auto words = [](auto&& x, auto&& y) { return std::pair{std::string(x), std::string(y)}; };
  if (a.collective != b.collective) return words(to_string(a.collective), to_string(b.collective));
  if (size_of_message(a) != size_of_message(b)) return words(size_of_message(a), size_of_message(b));
  if (a.collective == Collective::broadcast && a.peer != b.peer)
    return words(fmt::format("root {}", a.peer), fmt::format("root {}", b.peer));
  if (!is_reduction(a.collective)) return std::nullopt;
  if (a.op != b.op) return words(to_string(a.op), to_string(b.op));
  if (a.accumulator != b.accumulator)
    return words(fmt::format("accumulator {}", name_of(a.accumulator)),
                 fmt::format("accumulator {}", name_of(b.accumulator)));
  return std::nullopt;
}

class MatchingCheck {
 public:
  MatchingCheck(std::span<const ProgramIndex> ranks, const Matching& matching) : ranks_(ranks), matching_(matching) {}

  std::vector<Finding> run() {
    for (const Channel& channel : matching_.channels) check_declared(channel);
    check_order_of_declarations();
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) check_legal(static_cast<std::int32_t>(rank));
    for (const Exchange& exchange : matching_.exchanges) check_exchange(exchange);
    return std::move(findings_);
  }

 private:
  const Transfer& transfer(const Party& party) const {
    const ProgramIndex& index = ranks_[static_cast<std::size_t>(party.rank)];
    return index.program().transfers(index.command(party.command))[party.transfer];
  }
  static CommandPlace place(const Party& party) { return {party.rank, party.command}; }
  std::string name(const Party& party) const { return text_with_rank(ranks_, place(party)); }

  void check_declared(const Channel& channel) {
    const auto has = [](std::uint32_t c) { return c != Channel::kNotDeclared; };
    const auto first =
        std::find_if(channel.on_member.begin(), channel.on_member.end(), has) - channel.on_member.begin();
    for (std::size_t i = 0; i < channel.members.size(); ++i)
      if (!has(channel.on_member[i]))
        findings_.push_back(
            {.kind = FindingKind::communicator,
             .commands = {},
             .what = fmt::format("rank {} never declares {}, which rank {} declares for ranks {}", channel.members[i],
                                 channel.purpose, channel.members[static_cast<std::size_t>(first)],
                                 fmt::join(channel.members, ", ")),
             .remedy = "declare a communicator on all of its members, with the same members in the "
                       "same order"});
  }

  // begin() connects communicators in the order of their declaration, and each waits for all members.
  void check_order_of_declarations() {
    std::vector<std::vector<std::uint32_t>> declared(ranks_.size());
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
      declared[rank].resize(ranks_[rank].program().communicators.size());
    for (std::uint32_t c = 0; c < matching_.channels.size(); ++c) {
      const Channel& channel = matching_.channels[c];
      for (std::size_t i = 0; i < channel.members.size(); ++i)
        if (channel.on_member[i] != Channel::kNotDeclared)
          declared[static_cast<std::size_t>(channel.members[i])][channel.on_member[i]] = c;
    }
    std::vector<std::string> clauses;
    for (const Precedence& p : find_contradiction(declared)) {
      const auto purpose = [&](std::size_t i) { return matching_.channels[declared[p.sequence][i]].purpose; };
      clauses.push_back(fmt::format("rank {} declares {} before {}", p.sequence, purpose(p.from), purpose(p.to)));
    }
    if (!clauses.empty())
      findings_.push_back({.kind = FindingKind::communicator,
                           .commands = {},
                           .what = fmt::format("{}", fmt::join(clauses, ", ")),
                           .remedy = "declare the communicators in the same order on all ranks"});
  }

  void check_legal(std::int32_t rank) {
    const ProgramIndex& index = ranks_[static_cast<std::size_t>(rank)];
    for (std::uint32_t c = 0; c < index.num_commands(); ++c)
      for (const Transfer& t : index.program().transfers(index.command(c))) try {
          check_transfer(t, index.program().communicators[index.command(c).communicator].group);
        } catch (const std::invalid_argument& error) {
          findings_.push_back({.kind = FindingKind::illegal_use,
                               .commands = {{rank, c}},
                               .what = fmt::format("{}: {}", text_with_rank(ranks_, {rank, c}), error.what()),
                               .remedy = "pass views that fit the transfer"});
        }
  }

  void check_exchange(const Exchange& exchange) {
    const Party& first = *std::ranges::find_if(exchange.parties, &Party::comes);
    for (const Party& party : exchange.parties) {
      if (!party.comes())
        report_unmatched(exchange, first, party);
      else if (exchange.is_point_to_point)
        check_sizes(exchange, first, party);
      else if (const auto words = difference(transfer(party), transfer(first)))
        report_mismatch(exchange, first, party, words->first, words->second);
    }
  }

  void check_sizes(const Exchange& exchange, const Party& first, const Party& party) {
    const std::string mine = size_of_message(transfer(party));
    const std::string theirs = size_of_message(transfer(first));
    if (mine != theirs) report_mismatch(exchange, first, party, mine, theirs);
  }

  // Only the first of a channel: after it, all transfers are out of step.
  bool is_first_of(const Exchange& exchange) { return reported_.insert(exchange.channel).second; }

  void report_unmatched(const Exchange& exchange, const Party& first, const Party& missing) {
    if (!is_first_of(exchange)) return;
    const std::string purpose = matching_.channels[exchange.channel].purpose;
    const std::string_view what = !exchange.is_point_to_point             ? "joins"
                                  : &missing == &exchange.parties.front() ? "sends"
                                                                          : "receives";
    findings_.push_back(
        {.kind = FindingKind::unmatched,
         .commands = {place(first)},
         .what = fmt::format("{} waits for rank {}, which never {} it", name(first), missing.rank, what),
         .remedy = fmt::format("enqueue the matching call of rank {} on {}, or remove that of rank {}", missing.rank,
                               purpose, first.rank)});
  }

  void report_mismatch(const Exchange& exchange, const Party& first, const Party& party, const std::string& mine,
                       const std::string& theirs) {
    if (!is_first_of(exchange)) return;
    findings_.push_back({.kind = FindingKind::mismatch,
                         .commands = {place(first), place(party)},
                         .what = fmt::format("{} has {} where {} has {}", name(party), mine, name(first), theirs),
                         .remedy = "declare the same transfer on all sides, in the same order"});
  }

  std::span<const ProgramIndex> ranks_;
  const Matching& matching_;
  std::vector<Finding> findings_;
  std::set<std::uint32_t> reported_;  // channels
};

}  // namespace

void require_all_ranks(std::span<const Program> programs) {
  for (std::size_t rank = 0; rank < programs.size(); ++rank)
    for (const auto& [purpose, group, hints, stream] : programs[rank].communicators) {
      for (const std::int32_t member : group.members)
        if (member < 0 || static_cast<std::size_t>(member) >= programs.size())
          throw std::invalid_argument(
              fmt::format("{} has rank {} as a member; there are {} programs", purpose, member, programs.size()));
      if (group.my_index < 0 || group.my_index >= group.size() ||
          static_cast<std::size_t>(group.members[static_cast<std::size_t>(group.my_index)]) != rank)
        throw std::invalid_argument(
            fmt::format("rank {} declares {} as member {}, which it is not", rank, purpose, group.my_index));
    }
}

std::vector<Finding> check_matching(std::span<const ProgramIndex> ranks, const Matching& matching) {
  return MatchingCheck(ranks, matching).run();
}

}  // namespace underlap::check
