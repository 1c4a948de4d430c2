// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "platform/text/titled_table.hpp"
#include "profiler/analysis/windows.hpp"
#include "profiler/trace/inspector_record.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::analysis {

/// Joined communication of one mode and purpose in counted windows.
struct InspectorRow {
  Mode mode = Mode::none;
  NameId purpose = kNoName;
  std::int64_t count = 0;          ///< communications with a record
  std::int64_t median_bytes = 0;   ///< as the library counts them
  double median_bus_gb_per_s = 0;  ///< as the plugin computed it
  std::int64_t comm_ns = 0;        ///< sum of their slices
  std::int64_t exposed_ns = 0;     ///< part of it without compute of the rank
};

/// Records of the Inspector plugin, joined with the slices of a trace.
struct InspectorJoin {
  std::vector<InspectorRow> rows;  ///< the longest first
  std::int64_t records = 0;
  std::int64_t joined = 0;                       ///< records with a slice
  std::map<std::string, std::int64_t> unjoined;  ///< records by reason, one clause each
};

/// Joins records with the communication of a trace of the same run, by communicator and position.
///
/// A communicator of the size of the job gives the rank of each process. It matches the group with its size,
/// with the rank at its place and, if it has a name, with that name. If several groups match, the one with as many
/// operations of each kind is used. Record k of a log then matches slice k + shift of the group,
/// with the shift at which sizes are equal, durations agree best and recorded starts are equally far apart.
///
/// Fails when groups of equal ranks do the same operations, or when several shifts fit equally well: their records then
/// count as unjoined.
InspectorJoin join_inspector(const Trace&, std::span<const InspectorRecord>, std::span<const Window>);

/// A table for people, with a note about records that were not joined.
TitledTable inspector_table(const InspectorJoin&);

/// Adds to the JSON of an analysis (underlap.analysis/1) the key `inspector`, and to its schema.
std::string with_inspector(const std::string& analysis_json, const InspectorJoin&);
void add_inspector_schema(nlohmann::ordered_json& analysis_schema);

}  // namespace underlap::analysis
