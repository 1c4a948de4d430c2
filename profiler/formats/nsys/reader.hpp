// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "profiler/trace/reading.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::formats::nsys {

/// Reads an SQLite export of Nsight Systems, of any schema from 2.x to 3.25.
///
/// Kernels, copies and memsets are on their streams, with flows from the calls that launched them; calls, NVTX ranges
/// and marks on threads; waits for an event on their stream, with flows from the work that they wait for where the
/// recorded event is in the file. Times are absolute where the file says when its session began.
/// Each process and device is a rank: the rank that NCCL's payloads say, or the environment or an NVTX label, else a
/// number by device and process (metadata "rank" = "assumed"). Kernels of NCCL have communication records where its
/// payloads were exported; where not, metadata "advice" says how to export them.
/// What cannot be used is counted in Trace::import by reason. Nothing is written beside the file.
/// Throws std::invalid_argument for what is no such file, holds nothing that can be used, or is larger than the free
/// memory; MachineError where SQLite cannot open it.
Trace read(const std::filesystem::path&);

/// The same, watched. Throws Cancelled, too.
Trace read(const std::filesystem::path&, Reading&);

}  // namespace underlap::formats::nsys
