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

/// What a person should know: how the modes were told, and what looks like communication and was not taken. Empty where
/// every slice had a tag of ours.
std::string attribution_text(const AttributionReport&, const TableFormat&);

}  // namespace underlap::attribution
