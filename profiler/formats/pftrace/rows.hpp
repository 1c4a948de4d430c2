// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "profiler/formats/kineto/events.hpp"
#include "profiler/formats/kineto/parser.hpp"
#include "profiler/formats/pftrace/events.hpp"
#include "profiler/formats/pftrace/slices.hpp"
#include "profiler/formats/pftrace/tracks.hpp"
#include "profiler/trace/reading.hpp"

namespace underlap::formats::pftrace {

/// Turns the events of a file into the rows that a Kineto trace has, so that both are joined by the same code.
///
/// - Render stages named Kernel, Memcpy and Memset are work, and so are slices with a category of GPU work, and slices
///   without a category on a track named as a stream ("stream 7").
/// - Work belongs to the call with the same correlation, the same flow id, or the call that lists its event id.
/// - Work whose call lies in record_param_comms has its collective. Otherwise it has the one that NCCL's profiler gave
///   it, or that of the function of RCCL around its call.
class RowBuilder {
 public:
  RowBuilder(Events& events, KinetoLanes& lanes);

  /// All rows by time, with their work and collectives. Call once. Throws Cancelled.
  KinetoEvents build(const Reading&);

 private:
  struct Range;

  void add_stage(std::uint32_t index);
  void add_slice(const PairedSlice&);
  void add_counter(const Event&);
  void add_names();
  KinetoCategory category_of(const PairedSlice&, const Event&) const;
  KinetoCategory category_on_stream(const PairedSlice&, const Event&) const;
  void add_work(KinetoRow&, KinetoCategory, const Arguments&, const Place&);
  void add_host(KinetoRow&, const Event&, const Arguments&);
  void join_by_ids();
  void join(KinetoRow& call, KinetoRow& work);
  void find_collectives();
  std::uint32_t lane_of(KinetoId pid, KinetoId tid, KinetoCategory);

  Events& events_;
  KinetoLanes& lanes_;
  KinetoEvents rows_;
  std::vector<Place> places_;
  std::vector<bool> has_arguments_;              ///< by track: some slice has arguments
  std::map<KinetoLane, std::uint32_t> indices_;  ///< of lanes
  std::map<KinetoLane, NameId> lane_names_;
  std::vector<std::uint32_t> row_of_event_;
  std::map<std::int64_t, std::uint32_t> row_of_stage_;  ///< by RenderStage::event_id
  std::int64_t next_id_;                                ///< for what the file gives no id
};

}  // namespace underlap::formats::pftrace
