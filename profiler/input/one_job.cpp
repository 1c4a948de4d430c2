// SPDX-License-Identifier: Apache-2.0
#include "profiler/input/one_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <system_error>

#include "platform/text/digits.hpp"
#include "profiler/analysis/windows.hpp"
#include "profiler/trace/saturating.hpp"

namespace underlap::input {
namespace {

constexpr std::size_t kMostCollectives = 1000;  // of a file

}  // namespace

void OneJob::add(const std::string& file, const Trace& trace) {
  for (const std::int32_t rank : analysis::ranks_of(trace))
    if (const auto [entry, is_new] = file_of_rank_.emplace(rank, file); !is_new)
      throw std::invalid_argument(fmt::format(
          "{} and {} both have rank {}; give the traces of one cell, or the run folder to analyze each cell",
          entry->second, file, rank));
  check_said(file, trace, "world_size", "ranks");
  check_ranks(file, trace);
  take_device(file, trace);
  if (trace.metadata.contains("backend") || trace.size() == 0) return;
  Span span{INT64_MAX, INT64_MIN, file};
  // Without GPU work, the calls of the host show when the job ran.
  bool has_work = false;
  if (!trace.metadata.contains("work_runs_on"))
    for (std::size_t i = 0; i < trace.size() && !has_work; ++i) has_work = trace.is_work(i);
  for (std::size_t i = 0; i < trace.size(); ++i) {
    if (has_work && !trace.is_work(i)) continue;
    span.begin_ns = std::min(span.begin_ns, trace.start_ns()[i]);
    span.end_ns = std::max(span.end_ns, trace.end_ns(i));
    const CommunicationRecord* record = trace.communication(i);
    if (record == nullptr || span.ends_ns.size() >= kMostCollectives) continue;
    const GroupRecord& group = trace.groups[record->group];
    if (group.ranks.empty() || record->is_part) continue;
    span.ends_ns[{group.name, group.description, group.ranks, record->sequence}] = trace.end_ns(i);
    std::string what;
    for (const TransferRecord& transfer : record->transfers) what += to_string(transfer.collective);
    span.orders[{group.name, group.description, group.ranks}].push_back({std::move(what), trace.end_ns(i)});
  }
  for (auto& [group, order] : span.orders) std::ranges::stable_sort(order, {}, &analysis::OrderedCollective::end_ns);
  spans_.push_back(std::move(span));
}

void OneJob::check_said(const std::string& file, const Trace& trace, const char* key, const char* what) {
  const auto found = trace.metadata.find(key);
  if (found == trace.metadata.end()) return;
  const auto [first, is_new] = said_.try_emplace(key, Said{found->second, file});
  if (is_new || first->second.value == found->second) return;
  throw std::invalid_argument(
      fmt::format("{} and {} are from different jobs: {} {} and {}; give traces of one job\n  underlap compare A B "
                  "compares two jobs",
                  first->second.file, file, what, first->second.value, found->second));
}

void OneJob::take_device(const std::string& file, const Trace& trace) {
  const auto found = trace.metadata.find("device_name");
  if (found == trace.metadata.end()) return;
  Device device{.name = found->second, .file = file};
  for (const GroupRecord& group : trace.groups)
    if (group.ranks.size() > 1) device.groups.emplace(group.name, group.description, group.ranks);
  devices_.push_back(std::move(device));
}

// A job may use different GPUs, but its files are then connected by groups that two of them list.
void OneJob::check_devices() const {
  if (devices_.empty()) return;
  const Device& first = devices_.front();
  std::set<GroupKey> known;
  std::vector<bool> is_connected(devices_.size());
  for (bool grew = true; grew;) {
    grew = false;
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      const Device& device = devices_[i];
      const auto is_known = [&](const GroupKey& group) { return known.contains(group); };
      if (is_connected[i] || (device.name != first.name && std::ranges::none_of(device.groups, is_known))) continue;
      is_connected[i] = grew = true;
      known.insert(device.groups.begin(), device.groups.end());
    }
  }
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    if (is_connected[i]) continue;
    const Device& device = devices_[i];
    throw std::invalid_argument(
        fmt::format("{} and {} are from different jobs: devices {} and {}, and no common process group; give traces of "
                    "one job\n  underlap compare A B compares two jobs",
                    first.file, device.file, first.name, device.name));
  }
}

void OneJob::check_ranks(const std::string& file, const Trace& trace) const {
  const auto found = trace.metadata.find("world_size");
  if (found == trace.metadata.end() || file_of_rank_.empty()) return;
  const std::string& text = found->second;
  std::int32_t size = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), size).ec != std::errc{}) return;
  const auto& [rank, named] = *file_of_rank_.rbegin();
  if (rank >= size)
    throw std::invalid_argument(fmt::format("{} has rank {}, but {} is from a job of {} ranks; ranks must be lower",
                                            named, rank, named == file ? "it" : file, size));
}

// Two runs of one program have the same collectives too, but not to the microsecond. Fails when two clocks drift apart
// by more than 10 us over the common collectives: ranks of one job are then refused.
bool OneJob::share_collectives(const Span& a, const Span& b) {
  constexpr std::int64_t kCoincideNs = 10'000;
  constexpr int kFewest = 3;
  int num = 0;
  std::int64_t least = 0, most = 0;
  for (const auto& [collective, end_ns] : a.ends_ns) {
    const auto other = b.ends_ns.find(collective);
    if (other == b.ends_ns.end()) continue;
    const std::int64_t apart = saturating_subtract(other->second, end_ns);
    least = num == 0 ? apart : std::min(least, apart);
    most = num == 0 ? apart : std::max(most, apart);
    ++num;
  }
  if (num >= kFewest && saturating_subtract(most, least) <= kCoincideNs) return true;
  // Without sequence numbers, positions differ if captures start at different times.
  return std::ranges::any_of(a.orders, [&](const auto& order) {
    const auto other = b.orders.find(order.first);
    if (other == b.orders.end() || std::min(order.second.size(), other->second.size()) < kFewest) return false;
    const auto shift = analysis::shift_between(order.second, other->second);
    return shift && shift->spread_ns <= static_cast<double>(kCoincideNs);
  });
}

void OneJob::check_times() const {
  check_devices();
  std::vector<Span> spans = spans_;
  std::ranges::sort(spans, {}, &Span::begin_ns);
  for (std::size_t i = 1; i < spans.size(); ++i) {
    const auto before =
        std::ranges::max_element(spans.begin(), spans.begin() + static_cast<std::ptrdiff_t>(i), {}, &Span::end_ns);
    if (spans[i].begin_ns <= before->end_ns) continue;
    if (std::any_of(spans.begin(), spans.begin() + static_cast<std::ptrdiff_t>(i),
                    [&](const Span& other) { return share_collectives(other, spans[i]); }))
      continue;
    const double apart_s = (static_cast<double>(spans[i].begin_ns) - static_cast<double>(before->end_ns)) / 1e9;
    throw std::invalid_argument(
        fmt::format("{} starts {} s after {} ends, so they cannot be ranks of one job; give traces recorded at the "
                    "same time\n  underlap compare A B compares two jobs",
                    spans[i].file, in_digits(apart_s, 3), before->file));
  }
}

}  // namespace underlap::input
