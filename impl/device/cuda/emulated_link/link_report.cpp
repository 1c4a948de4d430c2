// SPDX-License-Identifier: Apache-2.0
#include "impl/device/cuda/emulated_link/link_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace underlap::cuda {
namespace {

struct BusyTime {
  unsigned long long start_ns = 0;
  unsigned long long end_ns = 0;
  double latency_us = 0;  // of the transfer that ends it
  std::int64_t bytes_out = 0;
  std::int64_t bytes_in = 0;
  std::int64_t num_transfers = 0;

  double us() const { return static_cast<double>(end_ns - start_ns) * 1e-3 - latency_us; }
  double bytes() const { return static_cast<double>(std::max(bytes_out, bytes_in)); }
};

std::vector<BusyTime> busy_times(std::span<const LinkRecord> records, std::span<const double> latency_us) {
  std::vector<std::size_t> order(records.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::erase_if(order, [&](std::size_t i) { return records[i].end_ns < records[i].start_ns; });  // never ran
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return records[a].start_ns < records[b].start_ns; });
  std::vector<BusyTime> busy;
  for (const std::size_t i : order) {
    const LinkRecord& record = records[i];
    if (busy.empty() || record.start_ns > busy.back().end_ns) busy.push_back({.start_ns = record.start_ns});
    BusyTime& last = busy.back();
    if (record.end_ns >= last.end_ns) last.latency_us = latency_us[i];
    last.end_ns = std::max(last.end_ns, record.end_ns);
    last.bytes_out += static_cast<std::int64_t>(record.bytes_out);
    last.bytes_in += static_cast<std::int64_t>(record.bytes_in);
    ++last.num_transfers;
  }
  return busy;
}

}  // namespace

namespace {

/// Rate of the records' bytes in the time that they take alone.
std::optional<double> rate_alone(std::span<const LinkRecord> records, std::span<const double> alone) {
  double bytes = 0, ns = 0;
  for (std::size_t i = 0; i < alone.size(); ++i) {
    if (alone[i] <= 0 || records[i].end_ns < records[i].start_ns) continue;
    const auto moved = static_cast<double>(std::max(records[i].bytes_out, records[i].bytes_in));
    bytes += moved;
    ns += moved / alone[i];
  }
  return ns > 0 ? std::optional(bytes / ns) : std::nullopt;
}

}  // namespace

LinkReport report_link(std::span<const LinkRecord> records, std::span<const double> latency_us,
                       std::span<const double> alone, double asked_gb_per_s, std::int64_t num_unrecorded) {
  LinkReport report{.asked_gb_per_s = asked_gb_per_s, .num_unrecorded = num_unrecorded};
  double bytes = 0;
  double us = 0;
  for (const BusyTime& busy : busy_times(records, latency_us)) {
    report.num_transfers += busy.num_transfers;
    if (busy.us() < LinkReport::kShortestUs || busy.bytes() == 0) {
      report.num_too_short += busy.num_transfers;
      continue;
    }
    bytes += busy.bytes();
    us += busy.us();
    const double rate = busy.bytes() / busy.us() * 1e-3;
    report.lowest_gb_per_s = std::min(rate, report.lowest_gb_per_s.value_or(rate));
  }
  if (us > 0) report.achieved_gb_per_s = bytes / us * 1e-3;
  report.alone_gb_per_s = rate_alone(records, alone);
  for (const LinkRecord& record : records) {
    report.bytes_out += static_cast<std::int64_t>(record.bytes_out);
    report.bytes_in += static_cast<std::int64_t>(record.bytes_in);
    report.bytes_read += static_cast<std::int64_t>(record.bytes_read);
    report.bytes_written += static_cast<std::int64_t>(record.bytes_written);
    if (record.placed_ns > record.start_ns)
      report.longest_placing_us =
          std::max(report.longest_placing_us, static_cast<double>(record.placed_ns - record.start_ns) * 1e-3);
  }
  return report;
}

std::string to_text(const LinkReport& report) {
  std::string text = report.achieved_gb_per_s
                         ? fmt::format("link at {:.0f} %: {:.4g} of {:g} GB/s (lowest {:.4g}) over {} transfers",
                                       *report.share() * 100, *report.achieved_gb_per_s, report.asked_gb_per_s,
                                       *report.lowest_gb_per_s, report.num_transfers - report.num_too_short)
                         : fmt::format("link of {:g} GB/s, not measured: none of {} transfers kept it busy for {:g} us",
                                       report.asked_gb_per_s, report.num_transfers, LinkReport::kShortestUs);
  if (report.alone_gb_per_s) text += fmt::format(", {:.4g} alone", *report.alone_gb_per_s);
  if (report.num_with_fewer_sms > 0)
    text += fmt::format("; {} used fewer SMs than the link's, which limits their rate", report.num_with_fewer_sms);
  if (report.num_unrecorded > 0) text += fmt::format("; {} not recorded", report.num_unrecorded);
  if (report.longest_placing_us > LinkReport::kPlacingUs)
    text += fmt::format("; blocks of a transfer waited up to {:.0f} us for SMs", report.longest_placing_us);
  if (!report.is_valid())
    text += fmt::format("; INVALID: under {:g} % of the requested rate with nothing else running",
                        100 * LinkReport::kLeastShare);
  return text + "; waiting for peers: not emulated";
}

}  // namespace underlap::cuda
