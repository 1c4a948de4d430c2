// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "profiler/trace/reading.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::formats::nsys {

/// Reads an SQLite export of Nsight Systems, of any schema from 2.x to 3.25.
///
/// Kernels, copies and memsets are on their streams, with flows from the calls that launched them. Calls, NVTX ranges
/// and marks are on threads. Waits for an event are on their stream, with flows from the work that they wait for if the
/// recorded event is in the file. Times are absolute if the file has the start of its session.
/// Each process and device is a rank. The number comes from NCCL's payloads, the environment or an NVTX label, else it
/// is a number by device and process (metadata "rank" = "assumed"). NCCL's kernels have communication records if its
/// payloads were exported; if not, metadata "advice" explains how to export them.
/// Unusable data is counted in Trace::import by reason. Writes no files.
/// Throws std::invalid_argument if the file is not such an export, has nothing that can be used, or is larger than the
/// free memory; MachineError if SQLite cannot open it; Cancelled.
Trace read(const std::filesystem::path&, Reading&);

}  // namespace underlap::formats::nsys
