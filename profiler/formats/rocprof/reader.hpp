// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "profiler/trace/reading.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::formats::rocprof {

/// Reads the JSON of rocprofv3, of one process or several: kernels by stream (by hardware queue where streams were not
/// tracked, or are more than 64 on a GPU), copies, calls of HIP, HSA and RCCL by thread, and roctx ranges. Each GPU of
/// each process is a rank.
///
/// Unusable records are counted in Trace::import.skipped by reason. Throws std::invalid_argument where nothing was done
/// on a GPU, and if memory does not hold the text; MachineError if reading fails; Cancelled.
Trace read(const std::filesystem::path&, Reading&);

}  // namespace underlap::formats::rocprof
