// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profiler/attribution/group_geometry.hpp"
#include "profiler/attribution/mode_map.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::attribution {

struct AttributionOptions {
  RankLayouts layouts = {};  ///< of the configuration that the trace is of, where one is known
  ModeMap mode_map = {};
};

/// Communication of which the mode was told for one reason.
struct AttributedBy {
  AttributionSource source = AttributionSource::none;
  Mode mode = Mode::none;
  std::uint8_t confidence_pct = 0;
  std::string reason;
  std::int64_t count = 0;
  std::int64_t time_ns = 0;  ///< sum of the slices, which may overlap
};

/// Kernels of one name that look like communication and were not taken for it.
struct NotTaken {
  std::string name;
  std::string why;
  std::int64_t count = 0;
  std::int64_t time_ns = 0;
};

/// What attribute() found.
struct AttributionReport {
  std::vector<AttributedBy> attributed;  ///< the longest first; what stayed without a mode has source none
  std::vector<NotTaken> not_taken;       ///< the longest first

  /// Communication of whichever mode, and what of it stayed without one.
  std::int64_t communications() const;
  std::int64_t communication_ns() const;
  std::int64_t unattributed() const;
  std::int64_t unattributed_ns() const;
};

/// Says of every kernel and copy of a trace that was made elsewhere whether it is communication and of which mode, and
/// writes both into its tag, the reason into its attribution. Purpose is set where the name tells it and the trace does
/// not. Slices that Underlap tagged itself are left as they are, and so is everything else of a slice.
///
/// What is communication: a kernel with a communication record, or with the name of a communication library's kernel; a
/// copy between two devices; a kernel that looks like communication and was launched in the range of a collective, or
/// runs on a stream on which all else is communication. The mode is told by the first that can:
///
/// 1. our own tag
/// 2. the mode map, since a person states it for this trace
/// 3. the name of the process group
/// 4. the ranks of the group, where the sizes of a configuration leave one mode
/// 5. the annotation in which it was launched
/// 6. a library that serves one mode alone
/// 7. the annotations of others of its group, where they agree
/// 8. its rhythm (inference.hpp)
///
/// What none tells keeps Mode::none and AttributionSource::none.
AttributionReport attribute(Trace&, const AttributionOptions& = {});

}  // namespace underlap::attribution
