// SPDX-License-Identifier: Apache-2.0
#include "profiler/trace/communication_parts.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace underlap {
namespace {

// Rank, group, sequence, collective.
using Key = std::tuple<std::int32_t, std::uint32_t, std::uint64_t, int>;

Key key_of(const Trace& trace, std::size_t slice) {
  const CommunicationRecord& record = *trace.communication(slice);
  const int collective = record.transfers.empty() ? -1 : static_cast<int>(record.transfers.front().collective);
  return {trace.track_of(slice).rank, record.group, record.sequence, collective};
}

}  // namespace

CommunicationParts::CommunicationParts(const Trace& trace) : trace_(trace) {
  std::map<Key, std::size_t> firsts;
  for (std::size_t i = 0; i < trace.size(); ++i)
    if (trace.is_part(i)) firsts.emplace(key_of(trace, i), trace.size());
  if (firsts.empty()) return;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    if (trace.communication(i) == nullptr || trace.is_part(i)) continue;
    const auto found = firsts.find(key_of(trace, i));
    if (found != firsts.end() && found->second == trace.size()) found->second = i;
  }
  for (std::size_t i = 0; i < trace.size(); ++i) {
    if (!trace.is_part(i)) continue;
    const std::size_t first = firsts.at(key_of(trace, i));
    if (first == trace.size()) continue;
    first_[i] = first;
    std::int64_t& end = last_end_.try_emplace(first, trace.end_ns(first)).first->second;
    end = std::max(end, trace.end_ns(i));
  }
}

std::int64_t CommunicationParts::end_ns(std::size_t slice) const {
  const auto found = last_end_.find(slice);
  return found == last_end_.end() ? trace_.end_ns(slice) : found->second;
}

std::size_t CommunicationParts::first_of(std::size_t slice) const {
  const auto found = first_.find(slice);
  return found == first_.end() ? slice : found->second;
}

void CommunicationParts::update(Trace& trace) const {
  for (const auto& [part, first] : first_) {
    CommunicationRecord record = *trace.communication(first);
    if (record.transfers.size() > 1) record.transfers.resize(1);
    for (TransferRecord& transfer : record.transfers) transfer = {.collective = transfer.collective};
    record.is_part = true;
    trace.set_communication(part, std::move(record));
  }
}

}  // namespace underlap
