// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/inspector/inspector_join.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "platform/numbers/median.hpp"
#include "profiler/analysis/durations.hpp"
#include "profiler/analysis/intervals.hpp"
#include "profiler/analysis/matching/communication_matching.hpp"
#include "profiler/analysis/waits/covered_time.hpp"
#include "profiler/trace/communication_parts.hpp"
#include "profiler/trace/saturating.hpp"

namespace underlap::analysis {
namespace {

using Records = std::vector<const InspectorRecord*>;
// Communications of one rank, group and collective, by start.
using SlicesOf = std::map<std::tuple<std::int32_t, std::uint32_t, Collective>, std::vector<std::uint32_t>>;

constexpr double kMostApart = 0.5;  // largest mean difference of durations for a join, as a fraction
// Another place fits as well if its durations differ less than this many times as much, or by little.
constexpr double kClearly = 2, kSmall = 0.01;
constexpr std::int64_t kMostStartsApartNs = 1'000'000;
constexpr std::int64_t kMostSpan = 1 << 20;

class Joiner {
 public:
  Joiner(const Trace& trace, const CommunicationParts& parts, std::span<const InspectorRecord> records)
      : trace_(trace), parts_(parts) {
    for (const InspectorRecord& record : records) {
      by_process_[record.process].push_back(&record);
      series_[{record.process, record.communicator}][record.collective].push_back(&record);
    }
    for (auto& [communicator, collectives] : series_)
      for (auto& [collective, list] : collectives) std::ranges::sort(list, {}, &InspectorRecord::sequence);
    for (std::uint32_t i = 0; i < trace.size(); ++i) {
      const CommunicationRecord* record = trace.communication(i);
      if (record == nullptr || record->is_part || record->transfers.empty()) continue;
      slices_[{trace.track_of(i).rank, record->group, record->transfers.front().collective}].push_back(i);
    }
    for (auto& [key, slices] : slices_)
      std::ranges::stable_sort(slices, {}, [&](std::uint32_t i) { return trace.start_ns()[i]; });
  }

  std::vector<std::pair<const InspectorRecord*, std::uint32_t>> run(InspectorJoin& join) {
    find_ranks();
    std::vector<std::pair<const InspectorRecord*, std::uint32_t>> joined;
    for (const auto& [communicator, collectives] : series_) {
      const auto rank = rank_of_.find(communicator.first);
      const InspectorRecord& any = *collectives.begin()->second.front();
      const auto group = rank == rank_of_.end() ? std::nullopt : group_of(rank->second, any, collectives);
      for (const auto& [collective, list] : collectives) {
        const char* reason = rank == rank_of_.end() ? "the process is not a rank of the trace"
                             : !group               ? "no group of the trace matches its communicator, or several do"
                                                    : nullptr;
        const auto slices = group ? slices_.find({rank->second, *group, collective}) : slices_.end();
        if (reason == nullptr)
          reason = slices == slices_.end() ? "the trace has no such collective of its group"
                                           : align(list, slices->second, join, joined);
        if (reason != nullptr) join.unjoined[reason] += static_cast<std::int64_t>(list.size());
      }
    }
    return joined;
  }

 private:
  // A communicator of all ranks gives the rank of a process. Without one, processes sorted by name get the ranks in
  // ascending order, if both are equally many.
  void find_ranks() {
    const std::int32_t num_ranks = num_ranks_of_job(trace_);
    for (const auto& [process, records] : by_process_)
      for (const InspectorRecord* record : records)
        if (record->num_ranks == num_ranks) rank_of_.try_emplace(process, record->rank);
    const std::vector<std::int32_t> ranks = ranks_of(trace_);
    if (!rank_of_.empty() || by_process_.size() != ranks.size()) return;
    std::size_t next = 0;
    for (const auto& [process, records] : by_process_) rank_of_[process] = ranks[next++];
  }

  std::optional<std::uint32_t> group_of(std::int32_t rank, const InspectorRecord& any,
                                        const std::map<Collective, Records>& collectives) const {
    std::vector<std::uint32_t> fitting;
    for (std::uint32_t g = 0; g < trace_.groups.size(); ++g) {
      const GroupRecord& group = trace_.groups[g];
      const auto place = static_cast<std::size_t>(any.rank);
      if (group.size() != static_cast<std::size_t>(any.num_ranks)) continue;
      if (place < group.ranks.size() && group.ranks[place] != rank) continue;
      if (!any.name.empty() && (any.name == name_of(group.name) || any.name == name_of(group.description))) return g;
      const bool does_all = std::ranges::all_of(collectives, [&](const auto& of) {
        return slices_.contains({rank, g, of.first});
      });
      if (does_all) fitting.push_back(g);
    }
    if (fitting.size() == 1) return fitting.front();
    // Groups of equal ranks: choose the one with as many operations.
    std::erase_if(fitting, [&](std::uint32_t g) {
      return !std::ranges::all_of(collectives, [&](const auto& of) {
        return slices_.at({rank, g, of.first}).size() == of.second.size();
      });
    });
    return fitting.size() == 1 ? std::optional(fitting.front()) : std::nullopt;
  }

  std::int64_t bytes_of(std::uint32_t slice) const {
    const CommunicationRecord& record = *trace_.communication(slice);
    const TransferRecord& transfer = record.transfers.front();
    const bool is_of_one =
        transfer.collective == Collective::all_gather || transfer.collective == Collective::reduce_scatter;
    const auto size = static_cast<std::int64_t>(std::max<std::size_t>(trace_.groups[record.group].size(), 1));
    return is_of_one ? transfer.bytes / size : transfer.bytes;
  }

  std::int64_t duration_ns(std::uint32_t slice) const { return parts_.end_ns(slice) - trace_.start_ns()[slice]; }

  struct Fit {
    std::int64_t first = 0;  ///< place of the first record
    double apart = 0;        ///< mean difference of durations, as a fraction
    std::size_t count = 0;
  };

  // nullopt if sizes differ, too few records overlap, or their recorded starts contradict it.
  std::optional<Fit> fit_of(const Records& records, const std::vector<std::uint32_t>& slices,
                            std::int64_t first) const {
    Fit fit{.first = first};
    double sum = 0;
    std::vector<std::int64_t> starts_apart;
    for (const InspectorRecord* record : records) {
      const std::int64_t place = record->sequence - records.front()->sequence + first;
      if (place < 0 || place >= static_cast<std::int64_t>(slices.size())) continue;
      const std::uint32_t slice = slices[static_cast<std::size_t>(place)];
      if (bytes_of(slice) != 0 && bytes_of(slice) != record->bytes) return std::nullopt;
      const auto duration = static_cast<double>(duration_ns(slice));
      sum += std::abs(static_cast<double>(record->duration_ns) - duration) / std::max(duration, 1000.0);
      if (record->start_ns >= 0)
        starts_apart.push_back(saturating_subtract(record->start_ns, trace_.start_ns()[slice]));
      ++fit.count;
    }
    if (2 * fit.count < std::min(records.size(), slices.size())) return std::nullopt;  // too few to show anything
    fit.apart = sum / static_cast<double>(fit.count);
    if (fit.apart > kMostApart || !is_one_distance(std::move(starts_apart))) return std::nullopt;
    return fit;
  }

  // Whether starts on two clocks are equally far apart, except for a few.
  static bool is_one_distance(std::vector<std::int64_t> apart) {
    if (apart.size() < 2) return true;
    const std::int64_t middle = median(apart);
    for (std::int64_t& ns : apart) ns = std::max(saturating_subtract(ns, middle), saturating_subtract(middle, ns));
    return median(std::move(apart)) <= kMostStartsApartNs;
  }

  // Joins the records at the place that fits best; otherwise returns why not.
  const char* align(const Records& records, const std::vector<std::uint32_t>& slices, InspectorJoin& join,
                    std::vector<std::pair<const InspectorRecord*, std::uint32_t>>& joined) const {
    const std::int64_t span = records.back()->sequence - records.front()->sequence;
    if (span > kMostSpan) return "its sequence numbers are too far apart";
    std::vector<Fit> fits;
    for (std::int64_t first = -span; first < static_cast<std::int64_t>(slices.size()); ++first)
      if (const auto fit = fit_of(records, slices, first)) fits.push_back(*fit);
    if (fits.empty()) return "no communication of the trace matches its size and duration";
    const double least = std::ranges::min(fits, {}, &Fit::apart).apart;
    std::erase_if(fits, [&](const Fit& fit) { return fit.apart > kClearly * least + kSmall; });
    std::ranges::stable_sort(fits, std::ranges::greater(), &Fit::count);
    if (fits.size() > 1 && fits[0].count == fits[1].count) return "several places in the trace match equally well";
    for (const InspectorRecord* record : records) {
      const std::int64_t place = record->sequence - records.front()->sequence + fits.front().first;
      if (place >= 0 && place < static_cast<std::int64_t>(slices.size()))
        joined.emplace_back(record, slices[static_cast<std::size_t>(place)]);
      else
        ++join.unjoined["it ran while the trace was not recorded"];
    }
    return nullptr;
  }

  const Trace& trace_;
  const CommunicationParts& parts_;
  std::map<std::string, Records> by_process_;
  std::map<std::pair<std::string, std::string>, std::map<Collective, Records>> series_;  ///< by process, communicator
  SlicesOf slices_;
  std::map<std::string, std::int32_t> rank_of_;
};

struct RowSamples {
  InspectorRow row;
  std::vector<double> bytes, bus;
};

}  // namespace

InspectorJoin join_inspector(const Trace& trace, std::span<const InspectorRecord> records,
                             std::span<const Window> windows) {
  InspectorJoin join;
  join.records = static_cast<std::int64_t>(records.size());
  const CommunicationParts parts(trace);
  const auto joined = Joiner(trace, parts, records).run(join);
  join.joined = static_cast<std::int64_t>(joined.size());
  std::map<std::int32_t, CoveredTime> covered = covered_by_compute(trace);
  auto windows_of = windows_by_rank(windows);
  std::map<std::pair<Mode, NameId>, RowSamples> rows;
  for (const auto& [record, slice] : joined) {
    const std::int32_t rank = trace.track_of(slice).rank;
    const std::int64_t start = trace.start_ns()[slice], end = parts.end_ns(slice);
    if (window_of_end(windows_of[rank], end) == nullptr) continue;
    RowSamples& of = rows[{trace.tag(slice).mode, trace.tag(slice).purpose}];
    of.row.mode = trace.tag(slice).mode;
    of.row.purpose = trace.tag(slice).purpose;
    ++of.row.count;
    of.row.comm_ns += end - start;
    of.row.exposed_ns += end - start - covered[rank].within(start, end);
    of.bytes.push_back(static_cast<double>(record->bytes));
    of.bus.push_back(record->bus_gb_per_s);
  }
  for (auto& [key, of] : rows) {
    of.row.median_bytes = static_cast<std::int64_t>(median(std::move(of.bytes)));
    of.row.median_bus_gb_per_s = median(std::move(of.bus));
    join.rows.push_back(of.row);
  }
  std::ranges::stable_sort(join.rows, std::ranges::greater(), &InspectorRow::comm_ns);
  return join;
}

}  // namespace underlap::analysis
