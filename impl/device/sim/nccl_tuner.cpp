// SPDX-License-Identifier: Apache-2.0
#include "impl/device/sim/nccl_tuner.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>

namespace underlap::sim::nccl {
namespace {

// Indexed by protocol: LL, LL128, Simple. Microseconds.
using ByProtocol = std::array<double, 3>;
constexpr ByProtocol kTreeBase{6.8, 14, 8.4}, kRingBase{6.6, 14, 8.4};
constexpr ByProtocol kTreeNvlinkHop{0.6, 1.25, 4.0}, kRingNvlinkHop{0.6, 1.9, 3.4};
constexpr ByProtocol kTreeNetworkHop{5.0, 8.5, 14.0}, kRingNetworkHop{2.7, 4.0, 14.0};
constexpr double kNvlsLatency = 25, kNvlsTreeNetworkHop = 20.9;
constexpr double kPatBase = 8, kPatRank = 2.8, kPatHopShare = 3.5;
constexpr double kNetworkOverhead = 1.0;  // of posting one step to the network, on Intel CPUs

// Indexed by node count: 1, 2, more. GB/s of one channel, except for ll, which is GB/s of all channels.
using ByScale = std::array<double, 3>;
struct Limits {
  double ll_one_node;
  ByScale ring_ll128, tree_ll128, tree, nvls_tree;
  double nvls_efficiency;
};
constexpr std::array<Limits, 3> kLimits{{
    {87.7, {20, 20, 20}, {20, 20, 20}, {24, 23.6, 17.8}, {0, 0, 0}, 0},
    {141, {36.7, 36.7, 36.7}, {36.7, 36.7, 29}, {38.7, 41.4, 36}, {0, 57.7, 45.5}, 0.85},
    {282, {40, 40, 40}, {55.6, 31.67, 20}, {70, 42.8, 24}, {0, 96, 43.8}, 0.74},
}};
constexpr ByScale kLlAcrossNodes{0, 39, 20.4};  // limited by the CPU, not by the GPU

// Efficiency of trees compared with their model in the middle of the range, by powers of two from 64 bytes.
constexpr std::array<std::array<double, 23>, 3> kTreeCorrection{{
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9},
}};

std::size_t index(Protocol protocol) { return static_cast<std::size_t>(protocol); }
std::size_t scale(const Group& group) { return static_cast<std::size_t>(std::min(group.nodes, 3) - 1); }
const Limits& limits(const Machine& machine) { return kLimits[static_cast<std::size_t>(machine.figures.generation)]; }
std::int32_t floor_log2(std::int64_t value) {
  return static_cast<std::int32_t>(std::bit_width(static_cast<std::uint64_t>(value))) - 1;
}

double ll_limit(const Machine& machine, const Group& group) {
  return group.nodes == 1 ? limits(machine).ll_one_node : kLlAcrossNodes[scale(group)];
}

// Steps of the ring, and the number of them that cross nodes.
struct Steps {
  double all, across_nodes;
};
Steps ring_steps(Collective collective, const Group& group) {
  const double n = group.ranks, nodes = group.nodes;
  switch (collective) {
    case Collective::all_reduce: return {2 * (n - 1), 2 * (nodes - 1)};
    case Collective::broadcast: return {n, nodes == 1 ? 0 : nodes};
    default: return {n - 1, nodes - 1};
  }
}

struct Channels {
  double count, gb_per_s;  // of one channel
  double busbw() const { return count * gb_per_s; }
};

// Bus bandwidth across nodes with all ports of a node: limited by the line rate.
double all_ports(const Machine& machine) {
  const NcclFigures& figures = machine.figures;
  return std::min(figures.network_channels.value * figures.network_channel_gb_per_s.value,
                  machine.gpus_per_node * machine.network_gb_per_s);
}

// Across nodes rings are as fast as the ports of all members in a node together. NVLink limits every ring.
Channels ring_channels(const Machine& machine, const Group& group) {
  const NcclFigures& figures = machine.figures;
  if (group.nodes == 1) {
    const double count = figures.ring_channels.value;
    return {count, std::min(figures.ring_channel_gb_per_s.value, machine.nvlink_gb_per_s / count)};
  }
  const double count = figures.network_channels.value;
  const double busbw = all_ports(machine) * (group.ranks_per_node() / machine.gpus_per_node);
  return {count, std::min(busbw, machine.nvlink_gb_per_s) / count};
}

double network_hop(const Machine& machine, double hop, Protocol protocol) {
  // Simple waits for the port twice: for the data and for the flush after it.
  return hop + (protocol == Protocol::simple ? 2 : 1) * machine.figures.network_latency_us.value;
}

double ring_latency(const Machine& machine, Collective collective, const Group& group, Protocol protocol) {
  const std::size_t p = index(protocol);
  if (collective == Collective::broadcast)
    return kRingBase[p] + (group.nodes == 1 ? kRingNvlinkHop[p] : kRingNetworkHop[p]);
  const Steps steps = ring_steps(collective, group);
  const double overhead = group.nodes == 1 ? 0 : kNetworkOverhead * (protocol == Protocol::simple ? 3 : 1);
  const double inside = std::max(kRingNvlinkHop[p], overhead);
  const double hop = group.ranks == group.nodes ? kTreeNetworkHop[p] : kRingNetworkHop[p];
  return kRingBase[p] + (steps.all - steps.across_nodes) * inside +
         steps.across_nodes * network_hop(machine, hop, protocol);
}

Estimate ring(const Machine& machine, Collective collective, const Group& group, std::int64_t bytes,
              Protocol protocol) {
  const Channels channels = ring_channels(machine, group);
  double busbw = channels.busbw();
  if (protocol == Protocol::ll) busbw = std::min(ll_limit(machine, group), busbw / 2);
  if (protocol == Protocol::ll128)
    busbw = std::min(busbw * 0.92, channels.count * limits(machine).ring_ll128[scale(group)]);
  double latency = ring_latency(machine, collective, group, protocol);
  const bool fills_channels = static_cast<double>(bytes) >= 64 * channels.count * group.ranks;
  if (protocol == Protocol::simple && group.nodes > 1 && collective == Collective::all_reduce && fills_channels)
    latency *= 1.4;  // NCCL's correction for the plateau of rings
  return {latency, busbw * group.ranks / ring_steps(collective, group).all};
}

Estimate tree(const Machine& machine, const Group& group, std::int64_t bytes, Protocol protocol) {
  const std::size_t p = index(protocol);
  const Channels channels = ring_channels(machine, group);
  double busbw = std::min(channels.busbw() * 0.92, channels.count * limits(machine).tree[scale(group)]);
  if (protocol == Protocol::ll) busbw = std::min(busbw / 3.8, ll_limit(machine, group));
  if (protocol == Protocol::ll128)
    busbw = std::min(busbw * (group.nodes == 1 ? 7.0 / 9 : 120.0 / 128),
                     channels.count * limits(machine).tree_ll128[scale(group)]);
  const std::int32_t power = floor_log2(bytes >> 6);
  if (power >= 0 && power < static_cast<std::int32_t>(kTreeCorrection[p].size()))
    busbw *= kTreeCorrection[p][static_cast<std::size_t>(power)];
  const double hops = (group.ranks_per_node() - 1) * kTreeNvlinkHop[p] +
                      floor_log2(group.nodes) * network_hop(machine, kTreeNetworkHop[p], protocol);
  return {kTreeBase[p] + 2 * hops, busbw / 2};
}

// Bus bandwidth of one channel of a reduction in the switch.
double nvls_channel(const Machine& machine, Collective collective, const Group& group) {
  const double count = machine.figures.nvls_channels->value;
  const double line = std::min(machine.figures.nvls_channel_gb_per_s->value, machine.nvlink_gb_per_s / count);
  const double channel = line * limits(machine).nvls_efficiency * (count - 1) / count;
  if (collective == Collective::all_reduce) return channel * 2;  // reduces one part while it broadcasts another
  return channel * (group.ranks_per_node() - 1) / group.ranks_per_node();
}

Estimate nvls(const Machine& machine, Collective collective, const Group& group) {
  const double busbw = nvls_channel(machine, collective, group) * machine.figures.nvls_channels->value;
  const bool reduces_all = collective == Collective::all_reduce;
  return {kNvlsLatency, reduces_all ? busbw * group.ranks / ring_steps(collective, group).all : busbw};
}

Estimate nvls_tree(const Machine& machine, const Group& group) {
  const double count = machine.figures.nvls_channels->value;
  const double ports = all_ports(machine) * (group.ranks_per_node() / machine.gpus_per_node) / count;
  const double channel = std::min({nvls_channel(machine, Collective::all_reduce, group),
                                   ports * (group.nodes <= 2 ? 2 : 1), limits(machine).nvls_tree[scale(group)]});
  const double latency =
      kNvlsLatency + 2 * floor_log2(group.nodes) * network_hop(machine, kNvlsTreeNetworkHop, Protocol::simple);
  return {latency, channel * count * group.ranks / ring_steps(Collective::all_reduce, group).all};
}

Estimate pat(const Machine& machine, const Group& group) {
  const double hop = network_hop(machine, kTreeNetworkHop[2], Protocol::simple);
  return {kPatBase + floor_log2(group.nodes) * (hop / kPatHopShare) + group.ranks * kPatRank,
          ring_channels(machine, group).busbw() * 0.75};
}

bool can_run(Collective collective, const Group& group, Algorithm algorithm, Protocol protocol) {
  const bool simple = protocol == Protocol::simple;
  const bool all_reduce = collective == Collective::all_reduce;
  const bool in_switch = group.ranks_per_node() > 2;  // with two GPUs per node NCCL uses rings
  switch (algorithm) {
    case Algorithm::ring: return true;
    case Algorithm::tree: return all_reduce;
    case Algorithm::nvls: return simple && in_switch && group.nodes == 1 && collective != Collective::broadcast;
    case Algorithm::nvls_tree: return simple && in_switch && group.nodes > 1 && all_reduce;
    case Algorithm::pat:
      return simple && group.ranks == group.nodes &&
             (collective == Collective::all_gather || collective == Collective::reduce_scatter);
    case Algorithm::p2p: return false;
  }
  return false;
}

}  // namespace

Machine machine_of(const Hardware& hardware) {
  return {hardware.nccl, static_cast<std::int32_t>(hardware.node.gpus.value), hardware.node.nvlink_gb_per_s.value,
          hardware.node.network_gb_per_s.value};
}

Machine machine_taken_on(const Hardware& hardware) {
  if (!hardware.collectives_taken_on) return machine_of(hardware);
  const TakenOn& taken_on = *hardware.collectives_taken_on;
  return {taken_on.nccl, static_cast<std::int32_t>(hardware.node.gpus.value), taken_on.nvlink_gb_per_s,
          taken_on.network_gb_per_s};
}

std::optional<Estimate> estimate(const Machine& machine, Collective collective, const Group& group, std::int64_t bytes,
                                 Algorithm algorithm, Protocol protocol) {
  assert(group.ranks > 1 && bytes >= 0);
  const auto& known = machine.figures.algorithms;
  if (std::find(known.begin(), known.end(), algorithm) == known.end()) return std::nullopt;
  if (!can_run(collective, group, algorithm, protocol)) return std::nullopt;
  switch (algorithm) {
    case Algorithm::ring: return ring(machine, collective, group, bytes, protocol);
    case Algorithm::tree: return tree(machine, group, bytes, protocol);
    case Algorithm::nvls: return nvls(machine, collective, group);
    case Algorithm::nvls_tree: return nvls_tree(machine, group);
    case Algorithm::pat: return pat(machine, group);
    case Algorithm::p2p: break;
  }
  return std::nullopt;
}

std::optional<Choice> choose_protocol(const Machine& machine, Collective collective, const Group& group,
                                      std::int64_t bytes, Algorithm algorithm) {
  std::optional<Choice> best;
  for (const Protocol protocol : machine.figures.protocols) {
    const auto expected = estimate(machine, collective, group, bytes, algorithm, protocol);
    if (expected && (!best || expected->time_us(bytes) < best->estimate.time_us(bytes)))
      best = Choice{algorithm, protocol, *expected};
  }
  return best;
}

Choice choose(const Machine& machine, Collective collective, const Group& group, std::int64_t bytes) {
  std::optional<Choice> best;
  for (const Algorithm algorithm : machine.figures.algorithms) {
    const auto choice = choose_protocol(machine, collective, group, bytes, algorithm);
    if (choice && (!best || choice->estimate.time_us(bytes) < best->estimate.time_us(bytes))) best = choice;
  }
  assert(best);  // every machine has rings
  return *best;
}

}  // namespace underlap::sim::nccl
