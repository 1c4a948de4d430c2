// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "profiler/trace/trace.hpp"

namespace underlap::formats {

/// Throws std::invalid_argument for a trace that no file can hold: a negative duration, an end past int64, a track,
/// group or slice that the trace does not have.
void check_writable(const Trace&);

}  // namespace underlap::formats
