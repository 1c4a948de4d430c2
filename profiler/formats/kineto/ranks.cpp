// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "profiler/formats/kineto/parts.hpp"

namespace underlap::formats {
namespace {

using Ranks = std::map<KinetoId, std::int32_t>;

// Processes that have work of a device, each with how many slices; where there are none, all that have slices.
std::map<KinetoId, std::size_t> processes(const KinetoParts& parts, bool of_device) {
  std::vector<std::size_t> slices(parts.trace.tracks.size());
  for (std::size_t i = 0; i < parts.trace.size(); ++i) ++slices[parts.trace.track(i)];
  std::map<KinetoId, std::size_t> result;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const bool fits =
        of_device ? parts.trace.tracks[i].kind == TrackKind::stream : parts.trace.tracks[i].kind != TrackKind::counter;
    if (fits) result[parts.lane_of_track[i].pid] += slices[i];
  }
  return result;
}

// Numbers the processes in their order; the one with most work has the file's rank, and the others theirs after and
// before it. Fails when processes are not in the order of their ranks: those are then swapped.
Ranks number(const std::map<KinetoId, std::size_t>& found, std::int32_t rank_of_file) {
  const auto most =
      std::max_element(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  const auto before = static_cast<std::int32_t>(std::distance(found.begin(), most));
  std::int32_t next = std::max(0, rank_of_file - before);
  Ranks ranks;
  for (const auto& [process, count] : found) ranks[process] = next++;
  return ranks;
}

// The rank for which a process of the host launches most.
Ranks ranks_of_hosts(const KinetoParts& parts, const Ranks& devices) {
  std::map<KinetoId, std::map<std::int32_t, std::size_t>> launches;
  for (const Flow& flow : parts.trace.flows) {
    if (flow.kind != FlowKind::launch) continue;
    const auto rank = devices.find(parts.lane_of_track[parts.trace.track(flow.to)].pid);
    if (rank != devices.end()) ++launches[parts.lane_of_track[parts.trace.track(flow.from)].pid][rank->second];
  }
  Ranks ranks;
  for (const auto& [process, of_ranks] : launches)
    ranks[process] = std::max_element(of_ranks.begin(), of_ranks.end(), [](const auto& a, const auto& b) {
                       return a.second < b.second;
                     })->first;
  return ranks;
}

// A thread belongs to the rank for which it launches most, and without launches to the first one.
void place_named_ranks(KinetoParts& parts, const KinetoHeader& header) {
  const Ranks& rank_of_process = header.rank_of_process;
  Trace& trace = parts.trace;
  std::map<std::pair<KinetoId, KinetoId>, std::map<std::int32_t, std::size_t>> launches;
  for (std::size_t i = 0; i < trace.tracks.size(); ++i) {
    const auto rank = rank_of_process.find(parts.lane_of_track[i].pid);
    trace.tracks[i].rank = rank == rank_of_process.end() ? -1 : rank->second;
  }
  const auto thread_of = [&](std::size_t track) {
    return std::pair(parts.lane_of_track[track].pid, parts.lane_of_track[track].tid);
  };
  for (const Flow& flow : trace.flows)
    if (const std::int32_t rank = trace.track_of(flow.to).rank; flow.kind == FlowKind::launch && rank >= 0)
      ++launches[thread_of(trace.track(flow.from))][rank];
  const auto first = std::ranges::min_element(rank_of_process, {}, [](const auto& one) { return one.second; });
  for (std::size_t i = 0; i < trace.tracks.size(); ++i) {
    if (trace.tracks[i].rank >= 0) continue;
    const auto& of_thread = launches[thread_of(i)];
    const auto most = std::ranges::max_element(of_thread, {}, [](const auto& one) { return one.second; });
    trace.tracks[i].rank = most == of_thread.end() ? first->second : most->first;
  }
  if (!header.rank) trace.metadata["rank"] = "assumed";
}

}  // namespace

void place_ranks(KinetoParts& parts, const KinetoHeader& header) {
  if (!header.rank_of_process.empty()) return place_named_ranks(parts, header);
  auto found = processes(parts, true);
  const bool has_work = !found.empty();
  if (!has_work) found = processes(parts, false);
  Trace& trace = parts.trace;
  if (!header.rank && found.size() <= 1) trace.metadata["rank"] = "assumed";
  if (found.empty()) return;
  // A host process may use several devices. But without device work, a file that names its rank has that rank only.
  if (!has_work && header.rank)
    for (auto& track : trace.tracks) track.rank = *header.rank;
  if (!has_work && header.rank) return;
  const Ranks devices = number(found, header.rank.value_or(0));
  const Ranks hosts = has_work && devices.size() > 1 ? ranks_of_hosts(parts, devices) : Ranks{};
  const std::int32_t otherwise = header.rank.value_or(devices.begin()->second);
  for (std::size_t i = 0; i < trace.tracks.size(); ++i) {
    const KinetoLane& lane = parts.lane_of_track[i];
    const bool is_device = !has_work || is_of_device(lane.category);
    const Ranks& ranks = is_device ? devices : hosts;
    const auto rank = ranks.find(lane.pid);
    trace.tracks[i].rank = rank == ranks.end() ? otherwise : rank->second;
  }
  std::set<std::string> names;
  for (const Track& track : trace.tracks)
    if (const auto device = header.device_names.find(track.device); device != header.device_names.end())
      names.insert(device->second);
  std::string joined;
  for (const std::string& name : names) joined += (joined.empty() ? "" : ", ") + name;
  if (!joined.empty()) trace.metadata["device_name"] = joined;
}

}  // namespace underlap::formats
