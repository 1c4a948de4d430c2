// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <vector>

#include "profiler/trace/trace.hpp"

namespace underlap::formats {

/// The files that write_kineto() writes: `path` for a trace of one rank; of several, one each, as NAME.rank0.json for
/// NAME.json, since such a file holds one rank.
std::vector<std::filesystem::path> kineto_files(const std::filesystem::path& path, const Trace&);

/// Writes the JSON of PyTorch's profiler (Kineto), which HTA, TraceLens and Perfetto open. A suffix `.gz` or `.zst`
/// after `.json` compresses it.
///
/// Times are exact to the nanosecond. Under the key "underlap" (own_tags.hpp) the files hold all that the trace
/// does, except flows between ranks and Trace::import.
/// Throws MachineError where a file cannot be written (it is then as it was; others of the trace may be written
/// already), std::invalid_argument as check_writable() does and for times 2^62 ns or more from 0.
void write_kineto(const std::filesystem::path& path, const Trace&);

}  // namespace underlap::formats
