// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "profiler/analysis/summary.hpp"
#include "profiler/attribution/attribution.hpp"
#include "profiler/trace/reading.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::input {

/// The trace of one cell, and the files that it was read from.
struct CellTrace {
  std::string cell;  ///< as the trace names it; empty where it does not
  std::vector<std::string> files;
  Trace trace;
  attribution::AttributionReport attribution{};  ///< what of it was told to be communication, and by what
  analysis::Summary summary;
};

/// What a person says of where traces come from.
using AttributionOptionsOf = std::function<attribution::AttributionOptions(const Trace&)>;

/// What of a trace stays in memory once it is read.
enum class Keep {
  everything,
  what_is_split,  ///< the work of devices, and the calls that launched communication
  by_size         ///< everything of files up to a quarter of a gigabyte in all, else what is split
};

/// Reads traces of one job, which together hold each rank once, tells their communication and summarises them. A file
/// is one rank or several. Files that do not say which rank they are get it from their names, or from the order of
/// these.
///
/// Of many files only one is in memory as a whole with Keep::what_is_split: its communication is told and its steps are
/// found before the rest goes.
///
/// Progress is of the bytes of all files. Parts are of the first file while it is read, and at the end of each file of
/// all that were read, as much as is kept; the last has all slices of the trace, not told yet. Where what was read is
/// not kept whole, a part may have fewer slices than the one before.
/// Throws std::invalid_argument where two hold one rank or are of different jobs, and for traces that hold nothing;
/// Cancelled.
CellTrace read_cell(const std::vector<std::string>& files, const AttributionOptionsOf& options, ReadingWatch& watch,
                    Keep keep = Keep::everything);

/// Reads the traces of a run's folder (its traces/, or itself where it has none), cell by cell, in the order of the
/// files' names; of them only the one named `wanted`, where that is given. Only one cell is in memory at a time.
/// Progress is of the bytes of all cells; parts are of one cell after the other.
/// Throws as read_cell(), and where there is no trace or no cell of that name.
void for_each_cell(const std::string& folder, const std::optional<std::string>& wanted,
                   const AttributionOptionsOf& options, ReadingWatch& watch,
                   const std::function<void(const CellTrace&)>& take);

}  // namespace underlap::input
