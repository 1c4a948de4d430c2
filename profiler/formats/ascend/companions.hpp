// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "profiler/formats/kineto/header.hpp"

namespace underlap::formats::ascend {

/// What torch_npu writes in files next to a trace.
struct Companions {
  std::optional<std::int32_t> rank;
  std::vector<KinetoProcessGroup> groups;  ///< with the names that communication rows use
};

/// Reads `profiler_info_RANK.json` and `profiler_metadata.json` in the folder of the trace or in the one above it.
/// Skips a file that is missing or cannot be read.
Companions read_companions(const std::filesystem::path& trace);

}  // namespace underlap::formats::ascend
