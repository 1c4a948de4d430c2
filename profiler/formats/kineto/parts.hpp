// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "profiler/formats/kineto/events.hpp"
#include "profiler/formats/kineto/header.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::formats {

/// A slice by the id that it shares with others.
struct KinetoLink {
  std::int64_t id = 0;
  std::uint32_t slice = 0;

  friend auto operator<=>(const KinetoLink&, const KinetoLink&) = default;
};

/// A wait of a stream for an event that another one recorded.
struct KinetoWait {
  std::uint32_t slice = 0;
  std::int32_t awaited_stream = -1;
  std::int64_t id = -1;         ///< correlation of the call that waits
  std::int64_t record_id = -1;  ///< correlation of the call that recorded the event
};

/// One end of an arrow, which belongs to the slice of its process and thread that is there at its time.
struct KinetoFlowPoint {
  std::int64_t id = 0;
  std::int64_t time_ns = 0;
  std::uint32_t lane = 0;
  FlowKind kind = FlowKind::launch;
  bool is_start = false;
};

/// A collective of a slice, and the operation that launched it.
struct KinetoStated {
  std::uint32_t slice = 0;
  KinetoCollective collective;
  std::int64_t external_id = -1;  ///< that it shares with other slices of the collective; -1: none
};

/// A trace whose slices are there, and what is still to be joined to them.
struct KinetoParts {
  Trace trace;
  std::vector<KinetoLane> lane_of_track;
  std::vector<KinetoLink> calls;                                ///< by correlation
  std::vector<KinetoLink> work;                                 ///< by correlation
  std::vector<KinetoStated> stated;                             ///< collectives stated by kernels
  std::vector<KinetoLink> unstated;                             ///< other kernels and copies, by external id
  std::unordered_map<std::int64_t, KinetoCollective> recorded;  ///< of record_param_comms, by external id
  std::vector<KinetoStated> ranges;                             ///< of process groups, by slice of the host
  std::vector<KinetoStated> gloo;                               ///< spans of gloo, by slice of the host
  std::vector<KinetoWait> waits;
  std::vector<KinetoFlowPoint> flow_points;
  std::map<std::uint32_t, KinetoLane> lane_of_points;
  std::map<std::pair<KinetoId, KinetoId>, NameId> thread_names;
  std::map<KinetoId, NameId> process_names;

  /// The name of a lane's thread; "" without one.
  std::string_view thread_name(const KinetoLane& lane) const {
    const auto found = thread_names.find({lane.pid, lane.tid});
    return found == thread_names.end() ? std::string_view() : name_of(found->second);
  }
};

/// Adds the flows from calls to the work that they enqueued; counts work that begins before its call does in the
/// metadata. By correlation; where no work has one, by the file's own arrows.
void join_launches(KinetoParts&);

/// Adds a dependency from the work before the event of each wait to that wait: the last work of the awaited stream
/// whose call came before the call that recorded, by correlation; without such a call in the file the last that had
/// ended when the wait did. The latter fails when work after the event had ended too: the dependency then comes from
/// that work. After join_launches().
void join_waits(KinetoParts&);

/// Gives each track its rank: the rank in the file, else the index of its device or process, else 0.
void place_ranks(KinetoParts&, const KinetoHeader&);

/// Gives kernels the collectives that they, the operation or the range that launched them state, and copies between
/// devices those of the operation; several slices of one operation become parts of one communication. After
/// join_launches().
void attach_collectives(KinetoParts&, const KinetoHeader&);

/// For a trace without device work, adds the work of the host: the outermost aten operators of the threads that
/// launch communication or run the backward pass as compute, and the spans of gloo as communication, each with the
/// collective of the operator that enqueued it and, where threads show it, the group. After place_ranks().
void add_gloo_work(KinetoParts&, const KinetoHeader&);

}  // namespace underlap::formats
