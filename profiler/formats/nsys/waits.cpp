// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/nsys/import.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace underlap::formats::nsys {
namespace {

constexpr std::int64_t kStreamWaitsForEvent = 2;

struct Wait {
  Process process = 0;
  std::int64_t event_sync_id = 0;
  std::int64_t correlation = 0;
  std::uint32_t slice = 0;
};

// Numbers of the kinds of waiting are in the file, where it is not too old:
// 2|CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT
std::int64_t stream_wait_type(const Import& import) {
  Rows rows(import.database(), "ENUM_CUPTI_SYNC_TYPE", {"id"}, "\"name\" LIKE '%STREAM\\_WAIT\\_EVENT' ESCAPE '\\'");
  return rows.next() ? rows.integer_or(0, kStreamWaitsForEvent) : kStreamWaitsForEvent;
}

bool is_number_of(const std::optional<std::int64_t>& value) {
  return value && *value >= 0 && *value <= std::numeric_limits<std::int32_t>::max();
}

// The device of a stream is that of the work on it: the table itself names device 0 in all processes. Fails for a
// stream without work in a process with several devices: it then stays on device 0.
class StreamDevices {
 public:
  explicit StreamDevices(const Import& import) {
    for (const Track& track : import.trace.tracks) {
      if (track.kind != TrackKind::stream) continue;
      const Process process = import.owners[static_cast<std::size_t>(track.rank)].process;
      streams_[{process, track.stream}].insert(track.device);
      processes_[process].insert(track.device);
    }
  }

  std::optional<std::int64_t> of(Process process, std::int64_t stream, std::optional<std::int64_t> said) const {
    if (const auto found = streams_.find({process, stream}); found != streams_.end() && found->second.size() == 1)
      return *found->second.begin();
    const auto found = processes_.find(process);
    if (found == processes_.end()) return std::nullopt;
    return found->second.size() == 1 ? *found->second.begin() : said;
  }

 private:
  std::map<std::pair<Process, std::int64_t>, std::set<std::int64_t>> streams_;
  std::map<Process, std::set<std::int64_t>> processes_;
};

// 60124956329|60124958850|2|0|24|2612288|281477392629760|16863
std::vector<Wait> read_wait_table(Import& import) {
  const std::string table = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION";
  Rows rows(import.database(), table,
            {"start", "end", "syncType", "deviceId", "streamId", "correlationId", "globalPid", "eventSyncId"});
  const std::int64_t wanted = stream_wait_type(import);
  const NameId name = intern("Stream Wait Event");
  const StreamDevices devices(import);
  std::vector<Wait> waits;
  while (import.next(rows)) {
    ++import.trace.import.events;
    if (!rows.integer(2)) import.skip("wait without a type");
    if (rows.integer(2) != wanted) continue;
    const auto span = import.span(rows, "wait for an event");
    if (!span) continue;
    const auto stream = rows.integer(4);
    const Process process = process_of(rows.integer_or(6, 0));
    const auto device = is_number_of(stream) ? devices.of(process, *stream, rows.integer(3)) : std::nullopt;
    if (!is_number_of(device)) {
      import.skip("wait for an event on an unknown stream");
      continue;
    }
    waits.push_back(
        {process, rows.integer_or(7, 0), rows.integer_or(5, 0), static_cast<std::uint32_t>(import.trace.size())});
    const Owner owner{process, static_cast<std::int32_t>(*device)};
    import.add(import.stream_track(owner, static_cast<std::int32_t>(*stream)), *span, name);
  }
  import.end_table(table, rows);
  return waits;
}

// Numbers of calls grow in the order of the calls, so the work before a record on its stream is that of the last call
// before it. Fails when two threads use one stream at once: the numbers then need not have its order.
class WorkByStream {
 public:
  explicit WorkByStream(const Import& import) : devices_(import) {
    for (const DeviceWork& work : import.device_work) {
      if (work.correlation == 0) continue;
      const Track& track = import.trace.track_of(work.slice);
      streams_[{work.process, track.device, track.stream}].emplace_back(work.correlation, work.slice);
    }
    for (auto& [stream, work] : streams_) std::ranges::sort(work);
  }

  std::optional<std::uint32_t> last_before(Process process, std::optional<std::int64_t> device, std::int64_t stream,
                                           std::int64_t correlation) const {
    const auto found = streams_.find({process, devices_.of(process, stream, device).value_or(-1), stream});
    if (found == streams_.end()) return std::nullopt;
    const auto after = std::ranges::lower_bound(found->second, correlation, {},
                                                [](const auto& work) { return static_cast<std::int64_t>(work.first); });
    if (after == found->second.begin()) return std::nullopt;
    return std::prev(after)->second;
  }

 private:
  StreamDevices devices_;
  std::map<std::tuple<Process, std::int64_t, std::int64_t>, std::vector<std::pair<std::uint32_t, std::uint32_t>>>
      streams_;
};

struct EventRecord {
  std::optional<std::int64_t> device;
  std::int64_t stream = -1;
  std::int64_t correlation = 0;
};

}  // namespace

// Records of events: 281477392629760|16863|0|20|2612281
void read_waits(Import& import) {
  const std::vector<Wait> waits = read_wait_table(import);
  const std::string table = "CUPTI_ACTIVITY_KIND_CUDA_EVENT";
  Rows rows(import.database(), table, {"globalPid", "eventSyncId", "deviceId", "streamId", "correlationId"});
  std::map<std::pair<Process, std::int64_t>, EventRecord> records;
  while (import.next(rows)) {
    ++import.trace.import.events;
    const std::pair key(process_of(rows.integer_or(0, 0)), rows.integer_or(1, 0));
    const EventRecord record{rows.integer(2), rows.integer_or(3, -1), rows.integer_or(4, 0)};
    if (key.second == 0 || record.correlation <= 0) continue;
    // An id that two records share proves nothing.
    if (const auto [found, is_new] = records.emplace(key, record); !is_new) found->second.correlation = 0;
  }
  import.end_table(table, rows);
  if (records.empty() || waits.empty()) return;
  const WorkByStream work(import);
  for (const Wait& wait : waits) {
    const auto found = records.find({wait.process, wait.event_sync_id});
    if (found == records.end() || found->second.correlation == 0 || found->second.correlation > wait.correlation)
      continue;
    const EventRecord& record = found->second;
    if (const auto from = work.last_before(wait.process, record.device, record.stream, record.correlation))
      import.trace.flows.push_back({.from = *from, .to = wait.slice, .kind = FlowKind::dependency});
  }
}

}  // namespace underlap::formats::nsys
