// SPDX-License-Identifier: Apache-2.0
#include "impl/device/sim/transfer_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace underlap::sim {
namespace {

constexpr std::array<Collective, 4> kChosenByTuner{Collective::all_gather, Collective::reduce_scatter,
                                                   Collective::all_reduce, Collective::broadcast};

// The description's entry for an algorithm whose group is nearest to `group`. Fails when the two load links in
// different patterns: compare() then scales by NCCL's model alone.
const CollectiveTimes* nearest_times(const Hardware& hardware, Collective collective, nccl::Algorithm algorithm,
                                     const nccl::Group& group) {
  const CollectiveTimes* best = nullptr;
  for (const CollectiveTimes& times : hardware.collectives) {
    const bool same_topology = (times.nodes == 1) == (group.nodes == 1);
    if (times.collective != collective || times.algorithm != algorithm || !same_topology) continue;
    const bool fits = times.nodes <= group.nodes;
    const bool best_fits = best != nullptr && best->nodes <= group.nodes;
    if (best == nullptr || (fits && (!best_fits || times.nodes > best->nodes)) ||
        (!fits && !best_fits && times.nodes < best->nodes))
      best = &times;
  }
  return best;
}

const Segment& segment_of(const CollectiveTimes& times, double bytes) {
  const auto found = std::find_if(times.segments.begin(), times.segments.end(), [bytes](const Segment& segment) {
    return bytes <= static_cast<double>(segment.up_to_bytes);
  });
  return found == times.segments.end() ? times.segments.back() : *found;
}

// Compares a group on this machine with the entry's group on the machine where it was measured, by the tuner's
// estimates for both.
struct Comparison {
  double latency = 1;    // of the group over the entry's
  double bandwidth = 1;  // likewise, of large messages
};

// One ratio for all sizes, so that a time does not jump where only the protocol changes: the latency of the protocol
// with the smallest one, the bandwidth of Simple, which uses all of the links. The denominator does not depend on this
// machine's figures, so a faster link never gives a slower estimate.
std::optional<Comparison> compare(const Hardware& hardware, const CollectiveTimes& times, const nccl::Group& group) {
  const nccl::Group known{times.ranks, times.nodes};
  const nccl::Machine here = nccl::machine_of(hardware), there = nccl::machine_taken_on(hardware);
  constexpr std::int64_t kLarge = std::int64_t{1} << 40;
  const auto latency = [&](const nccl::Machine& machine, const nccl::Group& g) {
    return nccl::choose_protocol(machine, times.collective, g, 0, times.algorithm);
  };
  const auto bandwidth = [&](const nccl::Machine& machine, const nccl::Group& g) {
    return nccl::estimate(machine, times.collective, g, kLarge, times.algorithm, nccl::Protocol::simple);
  };
  if (!latency(there, known) || !latency(here, group)) return std::nullopt;
  return Comparison{latency(here, group)->estimate.latency_us / latency(there, known)->estimate.latency_us,
                    bandwidth(here, group)->algbw_gb_per_s / bandwidth(there, known)->algbw_gb_per_s};
}

// The entry's time, converted to another group or machine. It is read at the message that would load the links of the
// entry's group as this one loads those of `group`. Segments are separate fits, so with scaled latencies one may start
// below the end of the previous one. No message is faster than a smaller one, so that end is the minimum.
nccl::Estimate carried_over(const CollectiveTimes& times, const Comparison& comparison, double bus_factor,
                            std::int64_t bytes) {
  const double loading_alike = static_cast<double>(bytes) / comparison.bandwidth;
  const Segment& segment = segment_of(times, loading_alike);
  const auto latency_us = [&](const Segment& s) { return s.latency_us * comparison.latency; };
  const auto time_us = [&](const Segment& s, double message) {
    return latency_us(s) + message / (1000 * s.busbw_gb_per_s / bus_factor);
  };
  double smaller_us = 0;  // the longest that a smaller message takes
  for (const Segment* s = times.segments.data(); s != &segment; ++s)
    smaller_us = std::max(smaller_us, time_us(*s, static_cast<double>(s->up_to_bytes)));
  // The time missing to that end is added to the latency. Transfers of one call share their latency. So time that
  // shifts from moving bytes to latency, as the segment's latency grows, would make the call faster.
  const double missing_us = std::max(0.0, smaller_us - time_us(segment, loading_alike));
  return {latency_us(segment) + missing_us, segment.busbw_gb_per_s / bus_factor * comparison.bandwidth};
}

bool is_in_switch(nccl::Algorithm algorithm) {
  return algorithm == nccl::Algorithm::nvls || algorithm == nccl::Algorithm::nvls_tree;
}

// SMs of a group, one for each channel, if all GPUs of a node would take `all`: across nodes, channels belong to ports.
int sms_with_ports(const Hardware& hardware, nccl::Algorithm algorithm, const nccl::Group& group, int all) {
  const auto& per_port = hardware.nccl.channels_per_port;
  if (!per_port || group.nodes == 1 || is_in_switch(algorithm)) return all;
  return std::min(all, static_cast<int>(per_port->value * group.ranks_per_node()));
}

// SMs that the tuner's own expectation of an algorithm takes: one for each of its channels.
int channels_of(const Hardware& hardware, nccl::Algorithm algorithm, const nccl::Group& group) {
  const NcclFigures& figures = hardware.nccl;
  if (is_in_switch(algorithm)) return static_cast<int>(figures.nvls_channels->value);
  const auto all = static_cast<int>((group.nodes == 1 ? figures.ring_channels : figures.network_channels).value);
  return sms_with_ports(hardware, algorithm, group, all);
}

// An all-to-all is sends and receives, which the tuner has no word on; inside a node the description may know its time,
// and a link with another line rate changes that in proportion.
std::optional<CollectiveTime> known_all_to_all(const Hardware& hardware, const nccl::Group& group, std::int64_t bytes) {
  const CollectiveTimes* times = nearest_times(hardware, Collective::all_to_all, nccl::Algorithm::p2p, group);
  if (times == nullptr || group.nodes > 1) return std::nullopt;
  const double links = hardware.node.nvlink_gb_per_s.value / nccl::machine_taken_on(hardware).nvlink_gb_per_s;
  const nccl::Choice choice{nccl::Algorithm::p2p, nccl::Protocol::simple, {}};
  const double of_bus = bus_factor(Collective::all_to_all, group.ranks);
  const nccl::Estimate time = carried_over(*times, {.bandwidth = links}, of_bus, bytes);
  return CollectiveTime{
      time.latency_us, time.algbw_gb_per_s, choice, times->sms, true, times->segments.front().latency_us};
}

struct Members {
  nccl::Group group;
  std::int32_t my_node = 0;
  std::int32_t peers_in_node = 0;  // other members of my node
};

Members members_of(const Call& call, std::int32_t gpus_per_node) {
  std::vector<std::int32_t> nodes;
  for (const std::int32_t rank : call.members) nodes.push_back(rank / gpus_per_node);
  const std::int32_t my_node = nodes.at(static_cast<std::size_t>(call.my_index));
  const auto in_my_node = static_cast<std::int32_t>(std::count(nodes.begin(), nodes.end(), my_node));
  std::sort(nodes.begin(), nodes.end());
  const auto different = static_cast<std::int32_t>(std::unique(nodes.begin(), nodes.end()) - nodes.begin());
  return {{static_cast<std::int32_t>(call.members.size()), different}, my_node, in_my_node - 1};
}

// Adds what one member sends for a collective, by link: the links of the path that its algorithm takes.
void add_bytes(TransferTime& out, Collective collective, const nccl::Choice& choice, const nccl::Group& group,
               double bytes) {
  const double n = group.ranks, nodes = group.nodes, per_node = group.ranks_per_node();
  const bool all_reduce = collective == Collective::all_reduce;
  const double wire = bytes * bus_factor(collective, group.ranks);
  const double passes = all_reduce ? 2 : 1;
  switch (choice.algorithm) {
    case nccl::Algorithm::nvls:
    case nccl::Algorithm::nvls_tree:
      // The switch reads every member's operand once and hands every member's share of the result to all.
      out.nvlink_bytes += all_reduce ? bytes * (1 + 1 / per_node) : wire;
      out.hbm_bytes += 2 * bytes;
      break;
    case nccl::Algorithm::tree:
      out.nvlink_bytes += per_node > 1 ? passes * bytes : 0;
      out.hbm_bytes += (is_reduction(collective) ? 3 : 2) * wire;
      break;
    default:
      // A ring carries the same bytes over each of its hops, one of which leaves each node.
      out.nvlink_bytes += nodes > 1 ? wire * ((n - nodes) / n) : wire;
      out.network_bytes += nodes > 1 ? wire / per_node : 0;
      out.hbm_bytes += (is_reduction(collective) ? 3 : 2) * wire;
      return;
  }
  if (nodes > 1) out.network_bytes += passes * bytes * ((nodes - 1) / nodes) / per_node;
}

/// Gathers one call: latencies once, bytes of collectives one after the other, sends and receives by direction.
class CallTime {
 public:
  CallTime(const Hardware& hardware, std::int32_t gpus_per_node, const Call& call)
      : hardware_(hardware), gpus_per_node_(gpus_per_node), call_(call), members_(members_of(call, gpus_per_node)) {}

  TransferTime compute() {
    for (const Collective collective : kChosenByTuner) add_collectives(collective);
    for (const TransferShape& transfer : call_.transfers) add_point_to_point(transfer);
    finish_point_to_point();
    apply_hints();
    out_.alone_ns = out_.latency_ns + moving_ns_;
    return out_;
  }

 private:
  // Collectives of one kind in one NCCL group share an algorithm, chosen for their sum.
  void add_collectives(Collective collective) {
    std::int64_t bytes = 0;
    bool any = false;
    for (const TransferShape& transfer : call_.transfers)
      if (transfer.collective == collective) {
        bytes += transfer.bytes;
        any = true;
      }
    if (any) add(collective, time_of_collective(hardware_, collective, members_.group, bytes), bytes);
  }

  void add(Collective collective, const CollectiveTime& time, std::int64_t bytes) {
    out_.latency_ns = std::max(out_.latency_ns, time.latency_us * 1000);
    hop_latency_ns_ = std::max(hop_latency_ns_, time.hop_latency_us * 1000);
    moving_ns_ += static_cast<double>(bytes) / time.algbw_gb_per_s;
    out_.sms = std::max(out_.sms, time.sms);
    out_.algorithm = nccl::to_string(time.choice.algorithm);
    out_.protocol = nccl::to_string(time.choice.protocol);
    add_bytes(out_, collective, time.choice, members_.group, static_cast<double>(bytes));
  }

  void add_point_to_point(const TransferShape& transfer) {
    switch (transfer.collective) {
      case Collective::all_to_all: return add_all_to_all(transfer);
      case Collective::send: return add_message(transfer, sent_);
      case Collective::receive: return add_message(transfer, received_);
      default: return;
    }
  }

  void add_all_to_all(const TransferShape& transfer) {
    if (const auto time = known_all_to_all(hardware_, members_.group, transfer.bytes))
      return add(Collective::all_to_all, *time, transfer.bytes);
    const double to_each = static_cast<double>(transfer.bytes) / members_.group.ranks;
    const std::int32_t elsewhere = members_.group.ranks - 1 - members_.peers_in_node;
    for (Links* direction : {&sent_, &received_}) {
      direction->nvlink += to_each * members_.peers_in_node;
      direction->network += to_each * elsewhere;
    }
  }

  struct Links {
    double nvlink = 0, network = 0;
  };

  void add_message(const TransferShape& transfer, Links& direction) {
    const std::int32_t peer = call_.members[static_cast<std::size_t>(transfer.peer)];
    const bool inside = peer / gpus_per_node_ == members_.my_node;
    (inside ? direction.nvlink : direction.network) += static_cast<double>(transfer.bytes);
    uses_nvlink_ |= inside;
    uses_network_ |= !inside;
  }

  // The two directions of a link, and the two kinds of link, work at the same time.
  void finish_point_to_point() {
    const Node& node = hardware_.node;
    const Links busier{std::max(sent_.nvlink, received_.nvlink), std::max(sent_.network, received_.network)};
    uses_nvlink_ |= busier.nvlink > 0;
    uses_network_ |= busier.network > 0;
    if (!uses_nvlink_ && !uses_network_) return;
    const double nvlink = std::min(node.p2p_nvlink_gb_per_s.value, node.nvlink_gb_per_s.value);
    const double network = std::min(node.p2p_network_gb_per_s.value, node.network_gb_per_s.value);
    moving_ns_ += std::max(busier.nvlink / nvlink, busier.network / network);
    const double latency_us = std::max(uses_nvlink_ ? node.p2p_nvlink_latency_us.value : 0,
                                       uses_network_ ? node.p2p_network_latency_us.value : 0);
    out_.latency_ns = std::max(out_.latency_ns, latency_us * 1000);
    hop_latency_ns_ = std::max(hop_latency_ns_, latency_us * 1000);
    const Figure& network_sms = node.p2p_network_sms ? *node.p2p_network_sms : node.p2p_sms;
    const double sms = std::max(uses_nvlink_ ? node.p2p_sms.value : 0, uses_network_ ? network_sms.value : 0);
    out_.sms = std::max(out_.sms, static_cast<int>(sms));
    out_.nvlink_bytes += busier.nvlink;
    out_.network_bytes += busier.network;
    out_.hbm_bytes += sent_.nvlink + sent_.network + received_.nvlink + received_.network;
    out_.algorithm = nccl::to_string(nccl::Algorithm::p2p);
    out_.protocol = nccl::to_string(nccl::Protocol::simple);
  }

  void apply_hints() {
    if (call_.hints.copy_engine) {
      out_.copy_engine = true;
      out_.sms = 0;
    } else if (call_.hints.sms > 0) {
      if (call_.hints.sms < out_.sms) moving_ns_ = std::max(moving_ns_, ns_on(call_.hints.sms) - out_.latency_ns);
      out_.sms = call_.hints.sms;
    }
  }

  // On fewer blocks than NCCL would take. Inside a node each carries what a multiprocessor can, up to what the links
  // take; elsewhere each drives its own channel, and the bandwidth of the others is lost. The latency of a fit is no
  // less a part of the time than its bytes are; only that of an empty message is one.
  double ns_on(int sms) const {
    const auto& sm_gb_per_s = hardware_.nccl.sm_gb_per_s;
    if (sm_gb_per_s && out_.network_bytes <= 0) return hop_latency_ns_ + out_.nvlink_bytes / (sm_gb_per_s->value * sms);
    return (out_.latency_ns + moving_ns_) * out_.sms / sms;
  }

  const Hardware& hardware_;
  std::int32_t gpus_per_node_;
  const Call& call_;
  Members members_;
  TransferTime out_;
  double moving_ns_ = 0, hop_latency_ns_ = 0;
  Links sent_, received_;
  bool uses_nvlink_ = false, uses_network_ = false;
};

void check(const Call& call) {
  const auto size = static_cast<std::int32_t>(call.members.size());
  if (call.my_index < 0 || call.my_index >= size)
    throw std::invalid_argument(fmt::format("member {} of a group of {}", call.my_index, size));
  if (call.hints.sms < 0) throw std::invalid_argument(fmt::format("{} SMs for a transfer", call.hints.sms));
  for (const TransferShape& transfer : call.transfers) {
    if (transfer.bytes < 0) throw std::invalid_argument(fmt::format("a transfer of {} bytes", transfer.bytes));
    if (is_message(transfer.collective) && (transfer.peer < 0 || transfer.peer >= size))
      throw std::invalid_argument(fmt::format("peer {} of a group of {}", transfer.peer, size));
    if (call.hints.copy_engine && is_reduction(transfer.collective))
      throw std::invalid_argument(
          fmt::format("{} on a copy engine, which can only copy", to_string(transfer.collective)));
  }
}

}  // namespace

double bus_factor(Collective collective, std::int32_t ranks) {
  const double n = ranks;
  switch (collective) {
    case Collective::all_reduce: return 2 * (n - 1) / n;
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::all_to_all: return (n - 1) / n;
    default: return 1;
  }
}

CollectiveTime time_of_collective(const Hardware& hardware, Collective collective, const nccl::Group& group,
                                  std::int64_t bytes) {
  const nccl::Choice choice = nccl::choose(nccl::machine_taken_on(hardware), collective, group, bytes);
  const CollectiveTimes* times = nearest_times(hardware, collective, choice.algorithm, group);
  const auto comparison = times == nullptr ? std::nullopt : compare(hardware, *times, group);
  if (!comparison) {
    const nccl::Machine here = nccl::machine_of(hardware);
    const nccl::Choice expected = nccl::choose_protocol(here, collective, group, bytes, choice.algorithm).value();
    return {expected.estimate.latency_us,
            expected.estimate.algbw_gb_per_s,
            expected,
            channels_of(hardware, choice.algorithm, group),
            false,
            expected.estimate.latency_us};
  }
  const nccl::Estimate time = carried_over(*times, *comparison, bus_factor(collective, times->ranks), bytes);
  const double hop_latency_us = times->segments.front().latency_us * comparison->latency;
  const int sms = sms_with_ports(hardware, choice.algorithm, group, times->sms);
  return {time.latency_us, time.algbw_gb_per_s, choice, sms, true, hop_latency_us};
}

TransferTime time_of_call(const Hardware& hardware, std::int32_t gpus_per_node, const Call& call) {
  check(call);
  if (call.members.size() == 1 || call.transfers.empty())
    return {.copy_engine = call.hints.copy_engine, .algorithm = "none", .protocol = "none"};
  return CallTime(hardware, gpus_per_node, call).compute();
}

}  // namespace underlap::sim
