// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "platform/text/titled_table.hpp"
#include "profiler/attribution/mode_map.hpp"
#include "profiler/trace/rank_layout.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::attribution {

struct AttributionOptions {
  RankLayouts layouts = {};  ///< of the configuration that the trace is of, where one is known
  ModeMap mode_map = {};
};

/// Communication that was attributed to a mode for one reason.
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

/// The kernels and copies that a rule of the mode map was applied to.
struct RuleUse {
  std::string rule;  ///< its place, such as "rule modes.yaml:3:5"
  std::int64_t count = 0;
  std::int64_t time_ns = 0;
};

/// What attribute() found.
struct AttributionReport {
  std::vector<AttributedBy> attributed;  ///< the longest first; what stayed without a mode has source none
  std::vector<NotTaken> not_taken;       ///< the longest first
  std::vector<RuleUse> rules;            ///< every rule of the mode map

  /// Communication of all modes, and the part without a mode.
  std::int64_t communications() const;
  std::int64_t communication_ns() const;
  std::int64_t unattributed() const;
  std::int64_t unattributed_ns() const;
};

/// Decides for every kernel and copy of a foreign trace whether it is communication and of which mode. Writes both into
/// its tag, and the reason into its attribution. Sets the purpose if the name shows it and the trace does not. Slices
/// that Underlap tagged itself are not changed, nor are other parts of a slice.
///
/// Communication is:
/// - a kernel or a copy with a communication record, or a kernel with the name of a communication library's kernel
/// - a copy between two devices
/// - a copy within a device, launched in the range of a collective that launched no communication kernel
/// - a kernel that looks like communication, and was launched in the range of a collective or runs on a stream without
///   other work
///
/// Other kernels that look like it, and kernels without a name, count as compute with AttributionSource::unclassified;
/// kernels that compute and communicate with AttributionSource::fused.
///
/// The first source that knows the mode decides. Among sources 5 to 8 the first with a confidence of at least 90 % goes
/// first.
///
/// 1. our own tag
/// 2. the mode map, which a person wrote for this trace
/// 3. the name of the process group
/// 4. the ranks of the group, if the sizes of a configuration leave one mode
/// 5. the annotation in which it was launched
/// 6. a library that serves one mode alone
/// 7. the annotations of others of its group, if they agree
/// 8. its rhythm (inference.hpp)
///
/// Below 90 % the slice keeps Mode::none, and its reason names the probable mode. A slice that no source knows keeps
/// Mode::none and AttributionSource::none.
AttributionReport attribute(Trace&, const AttributionOptions& = {});

/// Adds to the JSON of an analysis (underlap.analysis/1) the key `attribution`, with `sources`, `unattributed` and
/// `not_taken`. Nothing where every slice had a tag of ours.
std::string with_attribution(const std::string& analysis_json, const AttributionReport&);

/// Adds the keys of the attribution to the schema of such JSON.
void add_attribution_schema(nlohmann::ordered_json& analysis_schema);

/// A sentence for each rule of the mode map that was applied to nothing, or one if none can be.
std::vector<std::string> unused_rules(const AttributionReport&);

/// Explains how modes were attributed, and lists kernels that look like communication but were not counted as such.
/// Empty if every slice had a tag of ours.
std::vector<TitledTable> attribution_tables(const AttributionReport&);

}  // namespace underlap::attribution
