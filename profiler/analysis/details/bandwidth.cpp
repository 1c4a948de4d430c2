// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/details/trace_details.hpp"

#include <algorithm>
#include <bit>
#include <tuple>

#include "platform/numbers/median.hpp"
#include "profiler/trace/communication_parts.hpp"
#include "profiler/trace/saturating.hpp"

namespace underlap::analysis {
namespace {

struct Samples {
  std::vector<double> bytes, ns, rate, transfer_ns, transfer_rate;
};

using Key = std::tuple<Collective, std::size_t, std::int64_t>;

// Bytes per nanosecond are GB/s.
double rate_of(std::int64_t bytes, std::int64_t ns) { return static_cast<double>(bytes) / static_cast<double>(ns); }

Bandwidth bandwidth_of(double algbw, double factor) { return {algbw, algbw * factor}; }

BandwidthRow row_of(const Key& key, Samples& samples) {
  const auto& [collective, num_ranks, least_bytes] = key;
  const double factor = bus_factor(collective, num_ranks);
  BandwidthRow row;
  row.collective = collective;
  row.num_ranks = num_ranks;
  row.least_bytes = least_bytes;
  row.count = static_cast<std::int64_t>(samples.ns.size());
  row.median_bytes = median(samples.bytes);
  row.median_ns = median(samples.ns);
  row.whole = bandwidth_of(median(samples.rate), factor);
  row.transfers = static_cast<std::int64_t>(samples.transfer_ns.size());
  if (row.transfers == 0) return row;
  row.median_transfer_ns = median(samples.transfer_ns);
  row.transfer = bandwidth_of(median(samples.transfer_rate), factor);
  return row;
}

bool is_of_one_kind(const CommunicationRecord& record) {
  return std::ranges::all_of(record.transfers, [&](const TransferRecord& transfer) {
    return transfer.collective == record.transfers.front().collective;
  });
}

}  // namespace

double bus_factor(Collective collective, std::size_t num_ranks) {
  const auto n = static_cast<double>(std::max<std::size_t>(num_ranks, 1));
  switch (collective) {
    case Collective::all_reduce: return 2 * (n - 1) / n;
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::all_to_all: return (n - 1) / n;
    case Collective::broadcast:
    case Collective::send:
    case Collective::receive: return 1;
  }
  return 1;
}

BandwidthReport find_bandwidths(const Trace& trace) {
  const CommunicationParts parts(trace);
  BandwidthReport report;
  std::map<Key, Samples> classes;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    if (trace.tag(i).kind != Kind::communication || trace.duration_ns()[i] <= 0 || trace.is_part(i)) continue;
    const std::int64_t end_ns = parts.end_ns(i);
    const std::int64_t duration_ns = end_ns - trace.start_ns()[i];
    const CommunicationRecord* record = trace.communication(i);
    std::int64_t bytes = 0;
    if (record != nullptr)
      for (const TransferRecord& transfer : record->transfers)
        bytes = saturating_add(bytes, std::max<std::int64_t>(transfer.bytes, 0));
    if (bytes == 0) {
      ++report.without_bytes;
      continue;
    }
    if (!is_of_one_kind(*record)) {
      ++report.of_several;
      continue;
    }
    const auto least = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(bytes)));
    Samples& samples = classes[{record->transfers.front().collective, trace.groups[record->group].size(), least}];
    samples.bytes.push_back(static_cast<double>(bytes));
    samples.ns.push_back(static_cast<double>(duration_ns));
    samples.rate.push_back(rate_of(bytes, duration_ns));
    if (record->last_arrival_ns == -1) continue;
    const std::int64_t transfer = end_ns - std::max(record->last_arrival_ns, trace.start_ns()[i]);
    if (transfer <= 0) continue;
    samples.transfer_ns.push_back(static_cast<double>(transfer));
    samples.transfer_rate.push_back(rate_of(bytes, transfer));
  }
  for (auto& [key, samples] : classes) report.rows.push_back(row_of(key, samples));
  return report;
}

}  // namespace underlap::analysis
