// SPDX-License-Identifier: Apache-2.0
#include "profiler/tables/event_tables.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "profiler/analysis/details/trace_details.hpp"
#include "profiler/analysis/mode_name.hpp"
#include "profiler/analysis/windows.hpp"
#include "profiler/tables/table_writer.hpp"
#include "profiler/trace/communication_parts.hpp"

namespace underlap::tables {
namespace {

using analysis::LateArrival, analysis::Window;

// The steps of ranks, by a moment of their clocks.
class StepAt {
 public:
  explicit StepAt(const std::vector<Window>& windows) : windows_(analysis::windows_by_rank(windows)) {}

  std::optional<std::int32_t> operator()(std::int32_t rank, std::int64_t end_ns) const {
    const auto of_rank = windows_.find(rank);
    if (of_rank == windows_.end()) return std::nullopt;
    const Window* window = analysis::window_of_end(of_rank->second, end_ns);
    return window == nullptr || window->step < 0 ? std::nullopt : std::optional(window->step);
  }

 private:
  std::map<std::int32_t, std::vector<Window>> windows_;
};

struct KernelRow {
  std::int32_t rank = 0, stream = 0;
  std::optional<std::int32_t> step{};
  NameId name = kNoName;
  Kind kind = Kind::compute;
  std::optional<std::string> mode{};
  NameId purpose = kNoName;
  std::int64_t start_ns = 0, duration_ns = 0;
};

constexpr const char* kMode = "mode of parallelism, of communication";
constexpr const char* kStep = "step in which it ends";

void visit_columns(const KernelRow& row, auto&& column) {
  column("rank", row.rank, "rank");
  column("stream", row.stream, "stream of its rank");
  column("step", row.step, kStep);
  column("name", row.name, "name of the kernel or copy");
  column("kind", row.kind, "compute, communication or copy");
  column("mode", row.mode, kMode);
  column("purpose", row.purpose, "purpose of communication, where it is known");
  column("start_ns", row.start_ns, "start on the rank's clock");
  column("duration_ns", row.duration_ns, "duration");
}

struct CollectiveRow {
  std::int32_t rank = 0, stream = 0;
  std::optional<std::int32_t> step{};
  NameId name = kNoName;
  std::string mode{};
  AttributionSource mode_source = AttributionSource::none;
  std::int32_t mode_confidence_pct = 0;
  NameId purpose = kNoName;
  std::optional<Collective> collective{};
  std::optional<DataType> dtype{};
  NameId group = kNoName;
  std::optional<std::int32_t> group_size{};
  std::optional<std::int64_t> bytes{}, bytes_on_wire{};
  std::int64_t start_ns = 0, duration_ns = 0;
  std::optional<std::int64_t> wait_ns{};
  std::optional<double> busbw_gb_per_s{};
  std::optional<std::int64_t> exposed_ns{};
  std::optional<analysis::ExposureReason> reason{};
  NameId waits_for = kNoName;
  std::optional<std::int32_t> last_rank{}, blamed_rank{};
  std::optional<analysis::LateCause> late_cause{};
};

void visit_columns(const CollectiveRow& row, auto&& column) {
  column("rank", row.rank, "rank");
  column("stream", row.stream, "stream of its rank");
  column("step", row.step, kStep);
  column("name", row.name, "name of the kernel or copy");
  column("mode", row.mode, "mode of parallelism, or unattributed");
  column("mode_source", row.mode_source, "evidence for the mode");
  column("mode_confidence_pct", row.mode_confidence_pct, "confidence in the mode");
  column("purpose", row.purpose, "purpose, where it is known");
  column("collective", row.collective, "collective, or send or receive; unknown if it carries several kinds");
  column("dtype", row.dtype, "type of its elements");
  column("group", row.group, "name of its process group");
  column("group_size", row.group_size, "ranks of its process group");
  column("bytes", row.bytes, "size of its message as nccl-tests defines it");
  column("bytes_on_wire", row.bytes_on_wire, "bytes that this rank sent");
  column("start_ns", row.start_ns, "start on the rank's clock");
  column("duration_ns", row.duration_ns, "duration, with waiting for late members");
  column("wait_ns", row.wait_ns, "part of it before the last member arrived");
  column("busbw_gb_per_s", row.busbw_gb_per_s, "bus bandwidth over its duration as nccl-tests defines it, 1e9 B/s");
  column("exposed_ns", row.exposed_ns, "part of it without compute, in counted steps");
  column("reason", row.reason, "why it is exposed");
  column("waits_for", row.waits_for, "work or host call that its start waited for");
  column("last_rank", row.last_rank, "member that arrived last");
  column("blamed_rank", row.blamed_rank, "rank whose time caused most of the wait");
  column("late_cause", row.late_cause, "why that rank was late");
}

// The value that all transfers have in common.
template <class T>
std::optional<T> common(const CommunicationRecord& record, T TransferRecord::*member) {
  const auto& transfers = record.transfers;
  const bool is_common = !transfers.empty() && std::ranges::all_of(transfers, [&](const TransferRecord& transfer) {
    return transfer.*member == transfers.front().*member;
  });
  return is_common ? std::optional(transfers.front().*member) : std::nullopt;
}

void set_record(CollectiveRow& row, const Trace& trace, std::size_t slice) {
  const CommunicationRecord* record = trace.communication(slice);
  if (record == nullptr) return;
  row.collective = common(*record, &TransferRecord::collective);
  row.dtype = common(*record, &TransferRecord::dtype);
  std::int64_t bytes = 0;
  for (const TransferRecord& transfer : record->transfers) bytes += std::max<std::int64_t>(transfer.bytes, 0);
  if (bytes > 0) row.bytes = bytes;
  if (trace.knows_bytes_on_wire(slice)) row.bytes_on_wire = record->bytes_on_wire();
  if (const std::optional<std::uint32_t> known = trace.known_group(slice)) {
    const GroupRecord& group = trace.groups[*known];
    row.group = group.description != kNoName ? group.description : group.name;
    if (group.size() > 0) row.group_size = static_cast<std::int32_t>(group.size());
  }
  if (record->last_arrival_ns >= 0)
    row.wait_ns = std::clamp<std::int64_t>(record->last_arrival_ns - row.start_ns, 0, row.duration_ns);
  if (row.bytes && row.collective && row.group_size && row.duration_ns > 0)
    row.busbw_gb_per_s = static_cast<double>(*row.bytes) / static_cast<double>(row.duration_ns) *
                         analysis::bus_factor(*row.collective, static_cast<std::size_t>(*row.group_size));
}

// The late arrivals by the slices of all members.
std::unordered_map<std::uint32_t, const LateArrival*> arrivals_by_slice(const analysis::Summary& summary) {
  std::unordered_map<std::uint32_t, const LateArrival*> arrivals;
  if (!summary.waits || !summary.communications) return arrivals;
  const auto& matches = summary.communications->matching.matches;
  for (const LateArrival& arrival : summary.waits->arrivals)
    for (const analysis::MatchMember& member : matches[arrival.match].members) arrivals[member.slice] = &arrival;
  return arrivals;
}

}  // namespace

ColumnTable kernels_of(const Job& job) {
  const Trace& trace = job.trace;
  const StepAt step_at(job.summary.all_windows());
  TableWriter<KernelRow> table;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    if (!trace.is_work(i)) continue;
    const Track& track = trace.track_of(i);
    const Tag& tag = trace.tag(i);
    KernelRow row{.rank = track.rank, .stream = track.stream, .step = step_at(track.rank, trace.end_ns(i))};
    row.name = trace.name(i);
    row.kind = tag.kind;
    if (tag.kind == Kind::communication) row.mode = analysis::mode_name(tag.mode);
    row.purpose = tag.purpose;
    row.start_ns = trace.start_ns()[i];
    row.duration_ns = trace.duration_ns()[i];
    table.add(row);
  }
  return std::move(table).take();
}

ColumnTable collectives_of(const Job& job) {
  const Trace& trace = job.trace;
  const StepAt step_at(job.summary.all_windows());
  const StepAt counted_step_at(job.summary.shown_windows());
  const CommunicationParts parts(trace);
  const auto arrivals = arrivals_by_slice(job.summary);
  std::unordered_map<std::uint32_t, const analysis::ExposedCommunication*> exposed;
  for (const auto& one : job.summary.reasons.communications) exposed[one.slice] = &one;
  TableWriter<CollectiveRow> table;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    if (trace.tag(i).kind != Kind::communication || trace.is_part(i)) continue;
    const Track& track = trace.track_of(i);
    const std::int64_t end_ns = parts.end_ns(i);
    CollectiveRow row{.rank = track.rank, .stream = track.stream, .step = step_at(track.rank, end_ns)};
    row.name = trace.name(i);
    row.mode = analysis::mode_name(trace.tag(i).mode);
    row.mode_source = trace.attribution(i).source;
    row.mode_confidence_pct = trace.attribution(i).confidence_pct;
    row.purpose = trace.tag(i).purpose;
    row.start_ns = trace.start_ns()[i];
    row.duration_ns = end_ns - row.start_ns;
    set_record(row, trace, i);
    if (counted_step_at(track.rank, end_ns) || !job.summary.shows_steps()) row.exposed_ns = 0;
    if (const auto one = exposed.find(static_cast<std::uint32_t>(i)); one != exposed.end()) {
      row.exposed_ns = one->second->exposed_ns;
      row.reason = one->second->reason;
      row.waits_for = one->second->waits_for;
    }
    if (const auto late = arrivals.find(static_cast<std::uint32_t>(i)); late != arrivals.end()) {
      row.last_rank = late->second->last_rank;
      row.late_cause = late->second->cause;
      if (late->second->blamed_rank >= 0) row.blamed_rank = late->second->blamed_rank;
    }
    table.add(row);
  }
  return std::move(table).take();
}

}  // namespace underlap::tables
