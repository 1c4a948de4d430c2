// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/writable.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace underlap::formats {
namespace {

void check_slice(const Trace& trace, std::size_t i) {
  std::int64_t end = 0;
  if (trace.track(i) >= trace.tracks.size())
    throw std::invalid_argument(fmt::format("slice {}: track {} of {}", i, trace.track(i), trace.tracks.size()));
  if (trace.duration_ns()[i] < 0 || __builtin_add_overflow(trace.start_ns()[i], trace.duration_ns()[i], &end))
    throw std::invalid_argument(fmt::format("slice {} ({}): starts at {} ns and lasts {} ns", i, name_of(trace.name(i)),
                                            trace.start_ns()[i], trace.duration_ns()[i]));
  const CommunicationRecord* record = trace.communication(i);
  if (record != nullptr && record->group >= trace.groups.size())
    throw std::invalid_argument(
        fmt::format("slice {} ({}): group {} of {}", i, name_of(trace.name(i)), record->group, trace.groups.size()));
}

}  // namespace

void check_writable(const Trace& trace) {
  for (std::size_t i = 0; i < trace.size(); ++i) check_slice(trace, i);
  for (const CounterSample& sample : trace.counters)
    if (sample.track >= trace.tracks.size())
      throw std::invalid_argument(fmt::format("a counter's sample: track {} of {}", sample.track, trace.tracks.size()));
  for (const Flow& flow : trace.flows)
    if (flow.from >= trace.size() || flow.to >= trace.size())
      throw std::invalid_argument(
          fmt::format("a flow from slice {} to slice {} of {}", flow.from, flow.to, trace.size()));
}

}  // namespace underlap::formats
