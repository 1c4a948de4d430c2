// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "profiler/formats/kineto/own_tags.hpp"
#include "profiler/formats/kineto/splitter.hpp"
#include "profiler/trace/reading.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::formats {

/// Reads what follows in a file that Underlap wrote. `base_ns` is what the file adds to its times.
///
/// Skips events without our tags: they repeat the tags for other tools. Unusable data is counted in Trace::import.
/// Throws std::invalid_argument if the trace outgrows `free_memory`, and Cancelled.
Trace read_own_events(KinetoSplitter&, kineto::OwnHeader, std::int64_t base_ns, const std::string& origin, Reading&,
                      std::int64_t free_memory);

}  // namespace underlap::formats
