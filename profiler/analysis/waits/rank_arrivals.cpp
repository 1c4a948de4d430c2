// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <stdexcept>

#include "profiler/analysis/arrivals.hpp"
#include "profiler/trace/subset.hpp"

namespace underlap::analysis {
namespace {

bool lacks_arrival(const Trace& trace, std::size_t slice) {
  const CommunicationRecord* record = trace.communication(slice);
  return record != nullptr && record->last_arrival_ns == -1;
}

}  // namespace

bool lacks_arrivals(const Trace& trace) {
  for (std::size_t i = 0; i < trace.size(); ++i)
    if (lacks_arrival(trace, i)) return true;
  return false;
}

Trace open_part(const Trace& trace) {
  Trace part = subset(trace, {}, [&](std::size_t slice) { return lacks_arrival(trace, slice); });
  part.marks.clear();
  part.counters.clear();
  return part;
}

std::vector<std::vector<std::int64_t>> last_arrivals(std::span<const Trace> parts) {
  Trace joined;
  for (const Trace& part : parts) joined.append(part);
  find_arrivals(joined, align_clocks(joined));
  std::vector<std::vector<std::int64_t>> arrivals;
  std::size_t slice = 0;
  for (const Trace& part : parts) {
    std::vector<std::int64_t>& of_rank = arrivals.emplace_back();
    for (std::size_t i = 0; i < part.size(); ++i, ++slice)
      of_rank.push_back(joined.communication(slice)->last_arrival_ns);
  }
  return arrivals;
}

void set_arrivals(Trace& trace, std::span<const std::int64_t> last_arrivals_ns) {
  std::size_t next = 0;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    if (!lacks_arrival(trace, i)) continue;
    if (next < last_arrivals_ns.size()) trace.set_last_arrival(i, last_arrivals_ns[next]);
    ++next;
  }
  if (next != last_arrivals_ns.size())
    throw std::invalid_argument(
        fmt::format("{} arrivals for {} communications without one", last_arrivals_ns.size(), next));
}

}  // namespace underlap::analysis
