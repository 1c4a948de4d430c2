// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "platform/text/titled_table.hpp"
#include "profiler/analysis/exposure_reasons.hpp"

namespace underlap::analysis {

/// The sums as a table, at most `most_rows` of them; a note if there are more or none.
TitledTable reasons_table(const ExposureReasons&, std::size_t most_rows);

}  // namespace underlap::analysis
