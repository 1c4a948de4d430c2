// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <initializer_list>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "profiler/formats/kineto/decimal_time.hpp"
#include "profiler/formats/kineto/elements.hpp"
#include "profiler/formats/kineto/parts.hpp"
#include "profiler/trace/wire_bytes.hpp"

namespace underlap::formats {
namespace {

// What PyTorch's process groups call their operations. No Collective: one that this trace model has no word for.
struct CollectiveWord {
  std::string_view kineto;
  std::string_view purpose;
  std::optional<Collective> collective;
};
constexpr std::array<CollectiveWord, 21> kCollectiveWords{{
    {"allreduce", "all_reduce", Collective::all_reduce},
    {"all_reduce", "all_reduce", Collective::all_reduce},
    {"allreduce_coalesced", "all_reduce", Collective::all_reduce},
    {"allgather", "all_gather", Collective::all_gather},
    {"all_gather", "all_gather", Collective::all_gather},
    {"_allgather_base", "all_gather", Collective::all_gather},
    {"allgather_into_tensor_coalesced", "all_gather", Collective::all_gather},
    {"reduce_scatter", "reduce_scatter", Collective::reduce_scatter},
    {"_reduce_scatter_base", "reduce_scatter", Collective::reduce_scatter},
    {"reduce_scatter_tensor_coalesced", "reduce_scatter", Collective::reduce_scatter},
    {"broadcast", "broadcast", Collective::broadcast},
    {"_broadcast_oop", "broadcast", Collective::broadcast},
    {"all_to_all", "all_to_all", Collective::all_to_all},
    {"all_to_allv", "all_to_all", Collective::all_to_all},
    {"send", "send", Collective::send},
    {"recv", "receive", Collective::receive},
    {"receive", "receive", Collective::receive},
    {"reduce", "reduce", std::nullopt},
    {"gather", "gather", std::nullopt},
    {"scatter", "scatter", std::nullopt},
    {"barrier", "barrier", std::nullopt},
}};

const CollectiveWord* word_of(const KinetoCollective& c) {
  const auto found = std::ranges::find(kCollectiveWords, name_of(c.name), &CollectiveWord::kineto);
  return found == kCollectiveWords.end() ? nullptr : &*found;
}

// Rows of the host that only wait for a collective look like one of a group of one.
bool is_wait(const KinetoCollective& c) { return name_of(c.name) == "wait"; }

// Elements of the whole buffer, as nccl-tests counts them.
std::int64_t elements_of(Collective collective, const KinetoCollective& c) {
  switch (collective) {
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::send:
    case Collective::receive: return std::max(c.in_elements, c.out_elements);
    default: return c.in_elements > 0 ? c.in_elements : c.out_elements;
  }
}

// The ranks of "[0, 1]"; none of a list that is cut short by "...".
std::vector<std::int32_t> ranks_of(std::string_view list) {
  std::vector<std::int32_t> ranks;
  if (list.find("...") != std::string_view::npos) return ranks;
  for (const std::string_view number : numbers_in(list)) {
    ranks.push_back(integer_within<std::int32_t>(number, -1));
    if (ranks.back() < 0) return {};
  }
  return ranks;
}

std::vector<std::int32_t> ranks_by_stride(const KinetoCollective& c) {
  constexpr std::int64_t kMostRanks = 1 << 20;
  std::vector<std::int32_t> ranks;
  const bool is_said =
      c.first_rank >= 0 && c.first_rank < kMostRanks && c.rank_stride > 0 && c.rank_stride < kMostRanks;
  if (!is_said || c.group_size <= 0 || c.group_size > kMostRanks / c.rank_stride) return ranks;
  for (std::int64_t i = 0; i < c.group_size; ++i)
    ranks.push_back(static_cast<std::int32_t>(c.first_rank + i * c.rank_stride));
  return ranks;
}

class Groups {
 public:
  Groups(Trace& trace, const KinetoHeader& header) : trace_(trace), header_(header) {}

  std::uint32_t index_of(const KinetoCollective& c) {
    const auto [found, is_new] = indices_.try_emplace(
        std::tuple(c.group_name, c.group_description, c.group_ranks, c.group_size), std::uint32_t{0});
    if (is_new) found->second = trace_.add_group(record_of(c));
    return found->second;
  }

 private:
  GroupRecord record_of(const KinetoCollective& c) const {
    GroupRecord group{.ranks = ranks_of(name_of(c.group_ranks)),
                      .name = c.group_name,
                      .description = c.group_description,
                      .num_ranks = static_cast<std::int32_t>(std::clamp<std::int64_t>(c.group_size, 0, 1 << 24))};
    const auto is_wrong = [&] { return group.num_ranks > 0 && group.ranks.size() != group.size(); };
    if (group.ranks.empty() || is_wrong()) group.ranks = ranks_of_header(c);
    if (group.ranks.empty() || is_wrong()) group.ranks = ranks_by_stride(c);
    if (is_wrong()) group.ranks.clear();
    return group;
  }

  std::vector<std::int32_t> ranks_of_header(const KinetoCollective& c) const {
    const auto found = std::ranges::find(header_.groups, name_of(c.group_name), &KinetoProcessGroup::name);
    return found == header_.groups.end() ? std::vector<std::int32_t>{} : found->ranks;
  }

  Trace& trace_;
  const KinetoHeader& header_;
  std::map<std::tuple<NameId, NameId, NameId, std::int64_t>, std::uint32_t> indices_;
};

std::int32_t peer_of(const KinetoCollective& c, const GroupRecord& group) {
  if (c.peer >= 0 && c.peer < static_cast<std::int64_t>(group.size())) return static_cast<std::int32_t>(c.peer);
  const auto found = std::find(group.ranks.begin(), group.ranks.end(), c.peer);
  return found == group.ranks.end() ? -1 : static_cast<std::int32_t>(found - group.ranks.begin());
}

CommunicationRecord record_of(const KinetoCollective& c, const CollectiveWord* word, const Trace& trace,
                              std::uint32_t group) {
  CommunicationRecord record;
  record.group = group;
  if (word == nullptr || !word->collective) return record;
  TransferRecord transfer{.collective = *word->collective};
  const bool is_p2p = transfer.collective == Collective::send || transfer.collective == Collective::receive;
  if (is_p2p) transfer.peer = peer_of(c, trace.groups[group]);
  const KinetoElement* const element = kineto_element(name_of(c.dtype));
  transfer.dtype = element == nullptr ? DataType::u8 : element->dtype;
  if (element != nullptr) transfer.bytes = kineto_bytes(*element, elements_of(transfer.collective, c));
  const bool is_uneven = transfer.collective == Collective::all_to_all && !c.is_even;
  const auto num_ranks = static_cast<std::int64_t>(trace.groups[group].size());
  if (!is_uneven) transfer.bytes_on_wire = bytes_sent(transfer.collective, transfer.bytes, num_ranks);
  record.transfers.push_back(transfer);
  return record;
}

bool is_named_as_communication(const Trace& trace, std::uint32_t slice) {
  const std::string_view name = name_of(trace.name(slice));
  return name.find("nccl") != std::string_view::npos || name.find("rccl") != std::string_view::npos;
}

bool is_copy_between(const Trace& trace, std::uint32_t slice, std::initializer_list<std::string_view> words) {
  if (trace.tag(slice).kind != Kind::copy) return false;
  const std::string_view name = name_of(trace.name(slice));
  return std::ranges::any_of(words, [&](std::string_view word) { return name.find(word) != std::string_view::npos; });
}

// The work of one record_param_comms that communicates: kernels with such names and copies to other devices;
// else copies within a device, which drivers report for memory that processes share; else a
// single kernel. The others copy for it. Fails when several kernels without such names communicate: they then have no
// collective.
std::vector<std::uint32_t> communicating(const Trace& trace, std::span<const KinetoLink> work) {
  std::vector<std::uint32_t> found, inside, kernels;
  for (const KinetoLink& link : work) {
    if (is_named_as_communication(trace, link.slice) ||
        is_copy_between(trace, link.slice, {"PtoP", "Peer-to-Peer", "PeerToPeer"}))
      found.push_back(link.slice);
    else if (is_copy_between(trace, link.slice, {"DtoD", "Device-to-Device", "DeviceToDevice"}))
      inside.push_back(link.slice);
    else if (trace.tag(link.slice).kind == Kind::compute)
      kernels.push_back(link.slice);
  }
  if (!found.empty()) return found;
  if (!inside.empty() && kernels.empty()) return inside;
  return kernels.size() == 1 ? kernels : std::vector<std::uint32_t>{};
}

// Work without a collective takes it from the record_param_comms around its launch.
void add_recorded(KinetoParts& parts) {
  auto& work = parts.unstated;
  std::erase_if(work, [&](const KinetoLink& link) { return !parts.recorded.contains(link.id); });
  std::sort(work.begin(), work.end());
  for (auto begin = work.begin(); begin != work.end();) {
    const auto end = std::find_if(begin, work.end(), [&](const KinetoLink& link) { return link.id != begin->id; });
    const KinetoCollective& collective = parts.recorded.at(begin->id);
    const bool is_alone = collective.group_size == 1;  // a collective of one rank only copies
    for (const std::uint32_t slice : communicating(parts.trace, {begin, end}))
      if (!is_alone || parts.trace.tag(slice).kind != Kind::copy)
        parts.stated.push_back({slice, collective, begin->id});
      else
        parts.trace.set_tag(slice, parts.trace.tag(slice),
                            {AttributionSource::tag, 100, intern("a group of one rank")});
    begin = end;
  }
}

// The remaining kernels take the collective of the process group's range in which they were launched. It names no
// group. Fails when a nested range ended before the launch: the kernel then has no collective.
void add_ranges(KinetoParts& parts) {
  const Trace& trace = parts.trace;
  // Ranges and calls of one thread may be on different tracks, so compare the thread instead.
  const auto start = [&](std::uint32_t slice) {
    const Track& track = trace.track_of(slice);
    return std::tuple(track.rank, track.stream, trace.start_ns()[slice]);
  };
  const auto start_of_range = [&](const KinetoStated& range) { return start(range.slice); };
  std::ranges::sort(parts.ranges, {}, start_of_range);
  std::set<std::uint32_t> known;
  for (const KinetoStated& stated : parts.stated) known.insert(stated.slice);
  for (const Flow& flow : trace.flows) {
    if (flow.kind != FlowKind::launch || !is_named_as_communication(trace, flow.to) || known.contains(flow.to))
      continue;
    const auto next = std::ranges::upper_bound(parts.ranges, start(flow.from), {}, start_of_range);
    if (next == parts.ranges.begin()) continue;
    const KinetoStated& range = *std::prev(next);
    const Track& track = trace.track_of(range.slice);
    const Track& thread = trace.track_of(flow.from);
    if (track.rank == thread.rank && track.stream == thread.stream &&
        trace.end_ns(range.slice) >= trace.start_ns()[flow.from])
      parts.stated.push_back({flow.to, range.collective});
  }
}

}  // namespace

void attach_collectives(KinetoParts& parts, const KinetoHeader& header) {
  if (!parts.recorded.empty()) add_recorded(parts);
  if (!parts.ranges.empty()) add_ranges(parts);
  Trace& trace = parts.trace;
  std::erase_if(parts.stated, [](const KinetoStated& stated) { return is_wait(stated.collective); });
  std::ranges::sort(parts.stated, {},
                    [&](const KinetoStated& s) { return std::pair(trace.start_ns()[s.slice], s.slice); });
  Groups groups(trace, header);
  std::map<std::uint32_t, std::uint64_t> next;
  std::unordered_map<std::int64_t, std::uint64_t> sequences;  // by external id
  for (const auto& [slice, collective, external_id] : parts.stated) {
    const CollectiveWord* const word = word_of(collective);
    const std::uint32_t group = groups.index_of(collective);
    CommunicationRecord record = record_of(collective, word, trace, group);
    if (const auto first = sequences.find(external_id); first != sequences.end()) {
      record.sequence = first->second;
      record.is_part = true;
      for (TransferRecord& transfer : record.transfers) transfer = {.collective = transfer.collective};
    } else {
      const std::uint64_t place = next[group]++;
      record.sequence = collective.sequence >= 0 ? static_cast<std::uint64_t>(collective.sequence) : place;
      if (external_id != -1) sequences.emplace(external_id, record.sequence);
    }
    trace.set_communication(slice, std::move(record));
    Tag tag = trace.tag(slice);
    tag.purpose = word == nullptr ? collective.name : intern(word->purpose);
    trace.set_tag(slice, tag, trace.attribution(slice));
  }
}

}  // namespace underlap::formats
