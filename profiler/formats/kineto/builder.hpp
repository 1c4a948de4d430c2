// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "profiler/formats/kineto/dialect.hpp"
#include "profiler/formats/kineto/events.hpp"
#include "profiler/formats/kineto/header.hpp"
#include "profiler/formats/kineto/parser.hpp"
#include "profiler/formats/kineto/parts.hpp"
#include "profiler/trace/reading.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::formats {

/// Makes a trace of the events of a Kineto file, in their order, and of the members around them, which may come last.
class KinetoBuilder {
 public:
  /// `dialect`: of another tool than PyTorch's profiler; nullptr: none. Both outlive this.
  explicit KinetoBuilder(KinetoLanes& lanes, KinetoDialect* dialect = nullptr) : lanes_(lanes), dialect_(dialect) {}

  void add(const KinetoEvents&);
  void skip(std::string_view reason, std::int64_t count = 1) { trace().import.skipped[std::string(reason)] += count; }
  Trace& trace() { return parts_.trace; }

  /// Joins what was read. Throws Cancelled.
  Trace finish(KinetoHeader, const Reading&);

 private:
  using Thread = std::pair<KinetoId, KinetoId>;
  struct Open {
    KinetoRow row;
    KinetoWork work;
  };

  void add(const KinetoRow&, const KinetoEvents&);
  void hold(KinetoRow, const KinetoEvents&);
  void add_held();
  void add_slice(const KinetoRow&, const KinetoWork&, const KinetoEvents&);
  void add_foreign(const KinetoRow&, const KinetoEvents&);
  void add_name(const KinetoRow&);
  void end_slice(const KinetoRow&, const KinetoEvents&);
  void add_flow_point(const KinetoRow&);
  std::uint32_t track_of(std::uint32_t lane, const KinetoWork&);
  std::uint32_t counter_track_of(const KinetoRow&);
  void name_tracks();

  KinetoLanes& lanes_;
  KinetoDialect* dialect_;
  KinetoParts parts_;
  std::vector<std::uint32_t> track_of_lane_;
  std::map<std::tuple<KinetoId, KinetoId, TrackKind>, std::uint32_t> tracks_;
  std::map<std::pair<KinetoId, NameId>, std::uint32_t> counter_tracks_;
  std::map<Thread, std::vector<Open>> open_;
  bool work_has_correlation_ = false;
  std::optional<bool> is_zero_bad_;  ///< as a time of work; decided by the first other times
  KinetoEvents held_;                ///< work at a time of 0, until that is decided
};

}  // namespace underlap::formats
