// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "profiler/trace/inspector_record.hpp"

namespace underlap::formats {

/// The logs of the Inspector plugin of NCCL and RCCL, and what could not be used.
struct InspectorLog {
  std::vector<InspectorRecord> records;
  std::map<std::string, std::int64_t> skipped;  ///< lines by reason
};

/// Reads a log: one JSON object per line, compressed or not. Point-to-point lines and unknown collectives are counted
/// as skipped. Throws std::invalid_argument for a file that cannot be read or has no such line.
InspectorLog read_inspector_log(const std::filesystem::path& file);

}  // namespace underlap::formats
