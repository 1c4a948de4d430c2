// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "profiler/analysis/trace_summary.hpp"
#include "profiler/attribution/attribution.hpp"
#include "profiler/trace/reading.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::input {

/// The trace of one cell, and the files that it was read from.
struct CellTrace {
  std::string cell;  ///< as the trace names it; empty where it does not
  std::vector<std::string> files;
  Trace trace;
  attribution::AttributionReport attribution{};  ///< which slices count as communication, and why
  analysis::Summary summary;
  bool is_whole = true;  ///< no record was dropped after reading
};

/// The origin of traces, as far as a person states it.
using AttributionOptionsOf = std::function<attribution::AttributionOptions(const Trace&)>;

/// The part of a trace that stays in memory after reading.
enum class Keep {
  everything,
  what_is_split,  ///< the work of devices, and the calls that launched communication
  by_size         ///< everything of files up to a quarter of a gigabyte in all, else what is split
};

/// How read_cell() reads.
struct ReadOptions {
  Keep keep = Keep::everything;
  analysis::StepChoice steps = {};  ///< that are counted
  bool reasons = false;             ///< whether to find out why each communication is exposed: Summary::reasons
};

/// Reads traces of one job, which together hold each rank once, attributes their communication and summarizes them. A
/// file holds one rank or several. Files without a rank get it from their names, or from the order of the names.
///
/// With Keep::what_is_split only one of several files is in memory as a whole. Its communication is attributed, and its
/// steps and the causes of exposure are found, before the rest is dropped.
///
/// Progress counts the bytes of all files. While the first file is read, parts are of it alone. At the end of each
/// file, a part has the kept slices of all files read so far. The last part has all slices of the trace, not attributed
/// yet. If files are not kept whole, a part may have fewer slices than the one before.
/// Throws std::invalid_argument if two files hold the same rank or are of
/// different jobs, for traces that hold nothing, and as analysis::find_steps(); Cancelled.
CellTrace read_cell(const std::vector<std::string>& files, const AttributionOptionsOf& options, ReadingWatch& watch,
                    const ReadOptions& read = {});

/// Reads the traces of a run's folder (its traces/, or itself where it has none), cell by cell, in the order of the
/// files' names; of them only the one named `wanted`, where that is given. Only one cell is in memory at a time, as a
/// whole. Progress is of the bytes of all cells; parts are of one cell after the other. Throws as read_cell(), and
/// where there is no trace or no cell of that name.
void for_each_cell(const std::string& folder, const std::optional<std::string>& wanted,
                   const AttributionOptionsOf& options, ReadingWatch& watch,
                   const std::function<void(CellTrace&&)>& take, const ReadOptions& read = {});

}  // namespace underlap::input
