// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "platform/table.hpp"
#include "profiler/attribution/attribution.hpp"

namespace underlap::attribution {

/// Adds to the JSON of an analysis (underlap.analysis/1) the key `attribution`, with `sources`, `unattributed` and
/// `not_taken`. Nothing where every slice had a tag of ours.
std::string with_attribution(const std::string& analysis_json, const AttributionReport&);

/// Adds the keys of the attribution to the schema of such JSON.
void add_attribution_schema(nlohmann::ordered_json& analysis_schema);

/// Explains how modes were attributed, and lists kernels that look like communication but were not counted as such.
/// Empty if every slice had a tag of ours.
std::string attribution_text(const AttributionReport&, const TableFormat&);

}  // namespace underlap::attribution
