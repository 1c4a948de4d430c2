// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/matching/communication_matching.hpp"

#include <fmt/format.h>

#include <set>
#include <tuple>
#include <utility>

#include "profiler/analysis/matching/order_shift.hpp"
#include "profiler/trace/communication_parts.hpp"
#include "profiler/trace/enum_names.hpp"
#include "profiler/trace/wire_bytes.hpp"

namespace underlap::analysis {
namespace {

constexpr EnumNames<MatchBasis, 3> kBases{{"sequence", "order", "assumed"}};

bool is_point_to_point(Collective collective) {
  return collective == Collective::send || collective == Collective::receive;
}

// A communicator, as all of its members name it. Without ranks: they are not listed, or differ between records.
struct Communicator {
  NameId purpose = kNoName;
  NameId name = kNoName;
  std::size_t size = 0;
  std::vector<std::int32_t> ranks;

  auto key() const { return std::tuple(purpose, name, size); }
  friend auto operator<=>(const Communicator&, const Communicator&) = default;
};

// For each group of the trace, the first group with the same communicator.
std::vector<std::uint32_t> representatives(const Trace& trace) {
  std::map<Communicator, std::uint32_t> first;
  std::map<std::tuple<NameId, NameId, std::size_t>, std::set<std::uint32_t>> listed;
  std::vector<std::uint32_t> of_group;
  for (std::uint32_t i = 0; i < trace.groups.size(); ++i) {
    const GroupRecord& group = trace.groups[i];
    const Communicator communicator{group.purpose, group.name, group.size(), group.ranks};
    of_group.push_back(first.emplace(communicator, i).first->second);
    if (!group.ranks.empty()) listed[communicator.key()].insert(of_group.back());
  }
  for (std::uint32_t i = 0; i < trace.groups.size(); ++i) {
    const GroupRecord& group = trace.groups[i];
    if (!group.ranks.empty() || group.name == kNoName) continue;
    const auto found = listed.find({group.purpose, group.name, group.size()});
    if (found != listed.end() && found->second.size() == 1) of_group[i] = *found->second.begin();
  }
  return of_group;
}

struct Numbered {
  std::uint64_t sequence = 0;
  std::uint32_t slice = 0;
};

// The collectives of one communicator, by rank and in order of time.
using NumberedByRank = std::map<std::int32_t, std::vector<Numbered>>;

// The ends of the transfers between two ranks.
struct Link {
  std::vector<Numbered> sends;
  std::vector<Numbered> receives;
};

// By group, sender and receiver, as global ranks.
using Links = std::map<std::tuple<std::uint32_t, std::int32_t, std::int32_t>, Link>;

class Matcher {
 public:
  explicit Matcher(const Trace& trace) : trace_(trace), group_of_(representatives(trace)) {}

  Matching run() {
    sort_out();
    if (!names_communicators_) {
      match_assumed(trace_, by_start_, result_);
    } else {
      for (const auto& [group, ranks] : collectives_) match_group(group, ranks);
      for (const auto& [key, link] : links_) match_link(std::get<0>(key), std::get<1>(key), std::get<2>(key), link);
    }
    count();
    return std::move(result_);
  }

 private:
  void refuse(std::uint32_t slice, const char* reason) { refused_.emplace(slice, reason); }

  void refuse(const NumberedByRank& ranks, const char* reason) {
    for (const auto& [rank, numbered] : ranks)
      for (const Numbered& n : numbered) refuse(n.slice, reason);
  }

  std::vector<std::uint32_t> communications() const {
    std::vector<std::uint32_t> slices;
    for (std::size_t i = 0; i < trace_.size(); ++i)
      if (trace_.tag(i).kind == Kind::communication && !trace_.is_part(i))
        slices.push_back(static_cast<std::uint32_t>(i));
    std::ranges::stable_sort(slices, {}, [&](std::uint32_t i) { return trace_.start_ns()[i]; });
    return slices;
  }

  void sort_out() {
    const std::vector<std::uint32_t> slices = communications();
    result_.slices = static_cast<std::int64_t>(slices.size());
    for (const std::uint32_t slice : slices) by_start_[trace_.track_of(slice).rank].push_back(slice);
    for (const std::uint32_t slice : slices) names_communicators_ |= trace_.known_group(slice).has_value();
    if (!names_communicators_) return;
    for (const std::uint32_t slice : slices) {
      if (trace_.known_group(slice))
        sort_out(slice, *trace_.communication(slice));
      else
        refuse(slice, "no communicator recorded");
    }
  }

  void sort_out(std::uint32_t slice, const CommunicationRecord& record) {
    const std::uint32_t group = group_of_[record.group];
    const std::int32_t rank = trace_.track_of(slice).rank;
    const bool has_message =
        std::ranges::any_of(record.transfers, [](const TransferRecord& t) { return is_point_to_point(t.collective); });
    if (!has_message) {
      collectives_[group][rank].push_back({record.sequence, slice});
      return;
    }
    for (const TransferRecord& transfer : record.transfers) {
      if (!is_point_to_point(transfer.collective)) continue;
      const std::optional<std::int32_t> peer = peer_of(trace_.groups[group], rank, transfer.peer);
      if (!peer) {
        refuse(slice, "no peer recorded");
      } else if (transfer.collective == Collective::send) {
        links_[{group, rank, *peer}].sends.push_back({record.sequence, slice});
      } else {
        links_[{group, *peer, rank}].receives.push_back({record.sequence, slice});
      }
    }
  }

  // The global rank of a peer that is given as an index in its group; of two members it is the other one.
  static std::optional<std::int32_t> peer_of(const GroupRecord& group, std::int32_t rank, std::int32_t index) {
    if (index >= 0 && static_cast<std::size_t>(index) < group.ranks.size())
      return group.ranks[static_cast<std::size_t>(index)];
    if (index >= 0 || group.ranks.size() != 2) return std::nullopt;
    return group.ranks[group.ranks[0] == rank ? 1 : 0];
  }

  void match_group(std::uint32_t group, const NumberedByRank& ranks) {
    const GroupRecord& record = trace_.groups[group];
    if (record.size() == 1) return refuse(ranks, "the communicator has one member");
    if (has_sequences(ranks)) return match_sequences(group, ranks);
    const bool is_whole = has_all_members(record, ranks);
    if (!is_whole && (ranks.size() < 2 || record.size() <= ranks.size()))
      return refuse(ranks, "a member's trace is missing");
    std::map<std::int32_t, std::ptrdiff_t> first;  // by rank: its place of the first common collective
    std::ptrdiff_t num = 0;
    if (!find_common(ranks, first, num)) {
      const bool has_as_many = std::ranges::all_of(
          ranks, [&](const auto& rank) { return rank.second.size() == ranks.begin()->second.size(); });
      return refuse(ranks, has_as_many ? "different operations per rank, and no sequence numbers"
                                       : "different counts per rank, and no sequence numbers");
    }
    const auto num_missing = is_whole ? 0 : static_cast<std::int32_t>(record.size() - ranks.size());
    std::vector<std::vector<MatchMember>> found(static_cast<std::size_t>(num));
    for (const auto& [rank, numbered] : ranks)
      for (std::size_t i = 0; i < numbered.size(); ++i) {
        const std::ptrdiff_t place = static_cast<std::ptrdiff_t>(i) - first.at(rank);
        if (place < 0 || place >= num)
          refuse(numbered[i].slice, "recorded while another rank was not");
        else
          found[static_cast<std::size_t>(place)].push_back({rank, numbered[i].slice});
      }
    for (std::size_t i = 0; i < found.size(); ++i) add(group, i, MatchBasis::order, std::move(found[i]), num_missing);
  }

  // Captures of ranks may start and end at different times: finds the part of their orders that all have.
  bool find_common(const NumberedByRank& ranks, std::map<std::int32_t, std::ptrdiff_t>& first,
                   std::ptrdiff_t& num) const {
    std::map<std::int32_t, std::vector<OrderedCollective>> orders;
    for (const auto& [rank, numbered] : ranks)
      for (const Numbered& n : numbered) orders[rank].push_back({what_of(n.slice), trace_.end_ns(n.slice)});
    const std::vector<OrderedCollective>& base = orders.begin()->second;
    std::ptrdiff_t begin = 0, end = static_cast<std::ptrdiff_t>(base.size());
    for (const auto& [rank, order] : orders) {
      const auto shift = rank == orders.begin()->first ? std::optional(OrderShift{}) : shift_between(base, order);
      if (!shift) return false;
      first[rank] = shift->places;
      begin = std::max(begin, -shift->places);
      end = std::min(end, static_cast<std::ptrdiff_t>(order.size()) - shift->places);
    }
    for (auto& [rank, place] : first) place += begin;
    num = end - begin;
    return num > 0;
  }

  std::string what_of(std::uint32_t slice) const {
    std::string what;
    for (const TransferRecord& t : trace_.communication(slice)->transfers)
      what += t.collective == Collective::all_to_all ? fmt::format("{} ", to_string(t.collective))
                                                     : fmt::format("{} {} ", to_string(t.collective), t.bytes);
    return what;
  }

  static bool has_all_members(const GroupRecord& group, const NumberedByRank& ranks) {
    if (group.size() == 0 || ranks.size() != group.size()) return false;
    return group.ranks.empty() ||
           std::ranges::all_of(group.ranks, [&](std::int32_t rank) { return ranks.contains(rank); });
  }

  // Whether sequence numbers identify a rank's collectives. Numbers that only count from 0 add nothing to the order,
  // and in a foreign trace they may start anywhere.
  bool has_sequences(const NumberedByRank& ranks) const {
    bool only_count = trace_.metadata.contains("format");
    std::size_t longest = 0;
    for (const auto& [rank, numbered] : ranks) {
      std::vector<std::uint64_t> sequences;
      for (const Numbered& n : numbered) sequences.push_back(n.sequence);
      std::ranges::sort(sequences);
      if (std::ranges::adjacent_find(sequences) != sequences.end()) return false;
      only_count &= sequences.front() == 0 && sequences.back() + 1 == sequences.size();
      longest = std::max(longest, sequences.size());
    }
    return !only_count || longest == 0;
  }

  void match_sequences(std::uint32_t group, const NumberedByRank& ranks) {
    std::map<std::uint64_t, std::vector<MatchMember>> found;
    for (const auto& [rank, numbered] : ranks)
      for (const Numbered& n : numbered) found[n.sequence].push_back({rank, n.slice});
    const GroupRecord& record = trace_.groups[group];
    for (auto& [sequence, members] : found) {
      const bool is_whole = is_complete(record, members);
      if (!is_whole && (members.size() < 2 || record.size() <= members.size())) {
        for (const MatchMember& m : members) refuse(m.slice, "a member is missing");
      } else if (!do_same(members)) {
        for (const MatchMember& m : members) refuse(m.slice, "different operations with the same sequence number");
      } else {
        const auto num_missing = is_whole ? 0 : static_cast<std::int32_t>(record.size() - members.size());
        add(group, sequence, MatchBasis::sequence, std::move(members), num_missing);
      }
    }
  }

  static bool is_complete(const GroupRecord& group, const std::vector<MatchMember>& members) {
    if (members.size() != group.size()) return false;
    if (group.ranks.empty()) return true;
    std::vector<std::int32_t> expected = group.ranks;
    std::ranges::sort(expected);
    return std::ranges::equal(expected, members, {}, {}, &MatchMember::rank);
  }

  bool do_same(const std::vector<MatchMember>& members) const {
    const auto collectives = [&](const MatchMember& member) {
      std::vector<Collective> list;
      for (const TransferRecord& t : trace_.communication(member.slice)->transfers) list.push_back(t.collective);
      return list;
    };
    const std::vector<Collective> first = collectives(members.front());
    return std::ranges::all_of(members, [&](const MatchMember& member) { return collectives(member) == first; });
  }

  void add(std::uint32_t group, std::uint64_t sequence, MatchBasis basis, std::vector<MatchMember> members,
           std::int32_t num_missing) {
    const std::uint32_t slice = members.front().slice;
    const CommunicationRecord& record = *trace_.communication(slice);
    if (trace_.groups[group].description == assumed_group_description()) basis = MatchBasis::assumed;
    const Collective collective = record.transfers.empty() ? collective_of_kernel(name_of(trace_.name(slice)))
                                                           : record.transfers.front().collective;
    result_.matches.push_back({collective, basis, group, sequence, std::move(members), num_missing});
  }

  void match_link(std::uint32_t group, std::int32_t from, std::int32_t to, const Link& link) {
    const bool same_number = link.sends.size() == link.receives.size();
    const auto by_sequence = [](const std::vector<Numbered>& sides) {
      std::map<std::uint64_t, std::uint32_t> found;
      for (const Numbered& side : sides) found.emplace(side.sequence, side.slice);
      return found;
    };
    const auto receives = by_sequence(link.receives);
    // On a communicator of two, both count the same transfers.
    const bool numbered = !trace_.metadata.contains("format") && trace_.groups[group].size() == 2 &&
                          by_sequence(link.sends).size() == link.sends.size() &&
                          receives.size() == link.receives.size();
    if (numbered) {
      for (const Numbered& send : link.sends)
        if (const auto found = receives.find(send.sequence); found != receives.end())
          add_message(group, MatchBasis::sequence, {from, send.slice}, {to, found->second});
    } else if (same_number) {
      for (std::size_t i = 0; i < link.sends.size(); ++i)
        add_message(group, MatchBasis::order, {from, link.sends[i].slice}, {to, link.receives[i].slice});
    }
    const char* reason =
        same_number || numbered ? "the peer's send or receive is missing" : "different counts of sends and receives";
    for (const auto* sides : {&link.sends, &link.receives})
      for (const Numbered& side : *sides) refuse(side.slice, reason);
  }

  void add_message(std::uint32_t group, MatchBasis basis, MatchMember sender, MatchMember receiver) {
    result_.matches.push_back({Collective::send, basis, group, 0, {sender, receiver}});
  }

  void count() {
    std::vector<bool> is_matched(trace_.size());
    for (const Match& match : result_.matches)
      for (const MatchMember& member : match.members) {
        if (!is_matched[member.slice]) {
          ++result_.matched_slices;
          result_.partly_matched_slices += match.num_missing > 0 ? 1 : 0;
        }
        is_matched[member.slice] = true;
      }
    for (const auto& [slice, reason] : refused_)
      if (!is_matched[slice]) ++result_.unmatched[reason];
  }

  const Trace& trace_;
  std::vector<std::uint32_t> group_of_;
  bool names_communicators_ = false;
  std::map<std::int32_t, std::vector<std::uint32_t>> by_start_;  ///< communication slices by rank
  std::map<std::uint32_t, NumberedByRank> collectives_;
  Links links_;
  std::map<std::uint32_t, const char*> refused_;  ///< of slices, the first reason
  Matching result_;
};

}  // namespace

std::string_view to_string(MatchBasis basis) { return kBases[basis]; }

Collective collective_of_kernel(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, Collective>, 6> kWords{{
      {"AllReduce", Collective::all_reduce},
      {"AllGather", Collective::all_gather},
      {"ReduceScatter", Collective::reduce_scatter},
      {"AllToAll", Collective::all_to_all},
      {"SendRecv", Collective::all_to_all},
      {"Broadcast", Collective::broadcast},
  }};
  for (const auto& [word, collective] : kWords)
    if (name.find(word) != std::string_view::npos) return collective;
  return Collective::all_reduce;
}

Matching match_communications(const Trace& trace) { return Matcher(trace).run(); }

void record_matches(Trace& trace, const Matching& matching) {
  const CommunicationParts parts(trace);
  std::vector<std::uint32_t> assumed;
  for (const GroupRecord& group : matching.assumed_groups) assumed.push_back(trace.add_group(group));
  for (const Match& match : matching.matches) {
    if (match.is_message()) continue;
    for (const MatchMember& member : match.members) {
      const CommunicationRecord* old = trace.communication(member.slice);
      CommunicationRecord record = old == nullptr ? CommunicationRecord{} : *old;
      record.group = assumed.empty() ? match.group : assumed[match.group];
      record.sequence = match.sequence;
      if (record.transfers.empty()) record.transfers.push_back({.collective = match.collective});
      // The parts of an all-to-all may differ.
      const auto num_ranks = static_cast<std::int64_t>(trace.groups[record.group].size());
      for (TransferRecord& transfer : record.transfers)
        if (transfer.bytes_on_wire == 0 && transfer.collective != Collective::all_to_all)
          transfer.bytes_on_wire = bytes_sent(transfer.collective, transfer.bytes, num_ranks);
      trace.set_communication(member.slice, std::move(record));
    }
  }
  parts.update(trace);
}

void add_flows(Trace& trace, const Matching& matching, const std::map<std::int32_t, std::int64_t>& offset_ns) {
  std::set<std::tuple<std::uint32_t, std::uint32_t, FlowKind>> known;
  for (const Flow& flow : trace.flows)
    if (flow.kind == FlowKind::message || flow.kind == FlowKind::collective)
      known.emplace(flow.from, flow.to, flow.kind);
  const auto add = [&](std::uint32_t from, std::uint32_t to, FlowKind kind) {
    if (!known.contains({from, to, kind})) trace.flows.push_back({from, to, kind});
  };
  const auto start = [&](const MatchMember& member) {
    const auto offset = offset_ns.find(member.rank);
    return trace.start_ns()[member.slice] - (offset == offset_ns.end() ? 0 : offset->second);
  };
  for (const Match& match : matching.matches) {
    if (match.is_message()) {
      add(match.members[0].slice, match.members[1].slice, FlowKind::message);
      continue;
    }
    const MatchMember last = *std::ranges::max_element(match.members, {}, start);
    for (const MatchMember& member : match.members)
      if (member.slice != last.slice) add(last.slice, member.slice, FlowKind::collective);
  }
}

}  // namespace underlap::analysis
