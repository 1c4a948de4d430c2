// SPDX-License-Identifier: Apache-2.0
#include "profiler/attribution/inference.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "profiler/attribution/kernel_rules.hpp"
#include "profiler/attribution/name_patterns.hpp"
#include "profiler/trace/compute_class.hpp"

namespace underlap::attribution {
namespace {

// What a slice does, in one word for all its transfers.
enum class Does : std::uint8_t { gather, scatter, reduce, all_to_all, send, receive, both_ways, unknown_ways, other };

Does does(Collective collective) {
  switch (collective) {
    case Collective::all_gather: return Does::gather;
    case Collective::reduce_scatter: return Does::scatter;
    case Collective::all_reduce: return Does::reduce;
    case Collective::all_to_all: return Does::all_to_all;
    case Collective::send: return Does::send;
    case Collective::receive: return Does::receive;
    case Collective::broadcast: break;
  }
  return Does::other;
}

bool is_part_of_exchange(Does d) {
  return d == Does::send || d == Does::receive || d == Does::both_ways || d == Does::unknown_ways;
}

Does of_transfers(const std::vector<TransferRecord>& transfers) {
  Does all = does(transfers.front().collective);
  for (const TransferRecord& transfer : transfers) {
    const Does one = does(transfer.collective);
    if (one == all) continue;
    all = is_part_of_exchange(one) && is_part_of_exchange(all) ? Does::both_ways : Does::other;
  }
  return all;
}

Does of_word(std::string_view word) {
  const std::optional<Collective> collective = collective_from(word);
  return collective ? does(*collective) : Does::other;
}

// What slices do. Names are read once.
class Doing {
 public:
  Does of(const Trace& trace, std::size_t i) {
    if (const CommunicationRecord* record = trace.communication(i); record && !record->transfers.empty())
      return of_transfers(record->transfers);
    if (const Does said = of_word(name_of(trace.tag(i).purpose)); said != Does::other) return said;
    return by_name_.of(trace.name(i), of_name);
  }

 private:
  // A library kernel with a general name, such as SendRecv, sends, receives, or both.
  static Does of_name(std::string_view name) {
    const NameMeaning meaning = meaning_of_kernel(name);
    return meaning.purpose.empty() ? Does::unknown_ways : of_word(meaning.purpose);
  }

  ByName<Does> by_name_;
};

Traffic traffic_of(Does d) {
  if (d == Does::all_to_all) return Traffic::all_to_all;
  return is_part_of_exchange(d) ? Traffic::point_to_point : Traffic::collective;
}

// Fails for attention kernels with other names: exchanges next to them then do not look context-parallel.

// The compute of one rank by start.
struct Compute {
  std::vector<std::pair<std::int64_t, bool>> kernels;  // start, whether it is attention

  // Whether attention computes as a slice starts, and next after it.
  std::pair<bool, bool> attention_around(std::int64_t start_ns) const {
    const auto next = std::ranges::upper_bound(kernels, start_ns, {}, &std::pair<std::int64_t, bool>::first);
    return {next != kernels.begin() && std::prev(next)->second, next != kernels.end() && next->second};
  }
};

std::map<std::int32_t, Compute> compute_of(const Trace& trace) {
  std::map<std::int32_t, Compute> ranks;
  ComputeClasses classes;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    if (trace.tag(i).kind != Kind::compute) continue;
    const bool is_attention = classes.of(trace.name(i)) == ComputeClass::attention;
    ranks[trace.track_of(i).rank].kernels.emplace_back(trace.start_ns()[i], is_attention);
  }
  for (auto& [rank, compute] : ranks)
    std::ranges::stable_sort(compute.kernels, {}, [](const auto& k) { return k.first; });
  return ranks;
}

void measure_traffic(const Trace& trace, Doing& doing, Channel& channel) {
  std::size_t gathers = 0;
  std::size_t scatters = 0;
  std::size_t reduces = 0;
  std::size_t one_way = 0;
  std::size_t both_ways = 0;
  std::size_t runs = 0;
  std::optional<Does> previous;
  for (const std::size_t i : channel.slices) {
    const Does d = doing.of(trace, i);
    gathers += d == Does::gather ? 1 : 0;
    scatters += d == Does::scatter ? 1 : 0;
    reduces += d == Does::reduce ? 1 : 0;
    one_way += d == Does::send || d == Does::receive ? 1 : 0;
    both_ways += d == Does::both_ways ? 1 : 0;
    runs += d != previous ? 1 : 0;
    previous = d;
  }
  const std::size_t all = channel.slices.size();
  const std::size_t more = std::max(gathers, scatters);
  channel.has_both = more > 0 && (more - std::min(gathers, scatters)) * 10 <= more;
  channel.only_reduces = reduces == all;
  channel.one_way = static_cast<double>(one_way) / static_cast<double>(all);
  channel.stated_both_ways = static_cast<double>(both_ways) / static_cast<double>(all);
  channel.slices_per_run = static_cast<double>(all) / static_cast<double>(std::max<std::size_t>(runs, 1));
}

void measure_next_to_attention(const Trace& trace, const Compute& compute, Channel& channel) {
  std::size_t before = 0;
  std::size_t after = 0;
  for (const std::size_t i : channel.slices) {
    const auto [is_before, is_after] = compute.attention_around(trace.start_ns()[i]);
    before += is_before ? 1 : 0;
    after += is_after ? 1 : 0;
  }
  const auto all = static_cast<double>(channel.slices.size());
  channel.compute_per_slice = static_cast<double>(compute.kernels.size()) / all;
  channel.next_to_attention = static_cast<double>(std::max(before, after)) / all;
}

}  // namespace

GroupsOfSlices::GroupsOfSlices(const Trace& trace) : trace_(trace), only_group_of_track_(trace.tracks.size()) {
  std::vector<bool> has_several(trace.tracks.size());
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const std::optional<std::uint32_t> group = trace.known_group(i);
    if (!group) continue;
    std::optional<std::uint32_t>& only = only_group_of_track_[trace.track(i)];
    if (only && *only != *group) has_several[trace.track(i)] = true;
    only = group;
  }
  for (std::size_t t = 0; t < has_several.size(); ++t)
    if (has_several[t]) only_group_of_track_[t].reset();
}

std::optional<std::uint32_t> GroupsOfSlices::group_of(std::size_t slice) const {
  if (const auto group = trace_.known_group(slice)) return group;
  // Other libraries' kernels may share a stream with NCCL's.
  const bool is_of_nccl = name_of(trace_.name(slice)).starts_with("nccl");
  return is_of_nccl ? only_group_of_track_[trace_.track(slice)] : std::nullopt;
}

std::vector<Channel> channels_of(const Trace& trace, std::span<const std::size_t> of, const GroupsOfSlices& groups) {
  using Key = std::tuple<std::int32_t, std::int64_t, std::int32_t, Traffic>;
  std::map<Key, Channel> channels;
  Doing doing;
  for (const std::size_t i : of) {
    const Track& track = trace.track_of(i);
    const std::optional<std::uint32_t> group = groups.group_of(i);
    const Traffic traffic = traffic_of(doing.of(trace, i));
    const Key key{track.rank, group ? std::int64_t{*group} : -1, group ? 0 : track.stream, traffic};
    Channel& channel = channels[key];
    channel.rank = track.rank;
    channel.group = group;
    channel.stream = track.stream;
    channel.traffic = traffic;
    channel.slices.push_back(i);
  }
  const std::map<std::int32_t, Compute> compute = compute_of(trace);
  std::vector<Channel> all;
  for (auto& [key, channel] : channels) {
    std::ranges::stable_sort(channel.slices, {}, [&](std::size_t i) { return trace.start_ns()[i]; });
    measure_traffic(trace, doing, channel);
    const auto found = compute.find(channel.rank);
    measure_next_to_attention(trace, found == compute.end() ? Compute{} : found->second, channel);
    all.push_back(std::move(channel));
  }
  return all;
}

}  // namespace underlap::attribution
