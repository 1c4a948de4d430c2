// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "profiler/formats/nsys/import.hpp"
#include "profiler/formats/nsys/payload.hpp"

namespace underlap::formats::nsys {

/// A call of NCCL that is an NVTX range of its thread.
struct NcclCall {
  enum class What : std::uint8_t { group_start, group_end, collective, other };

  std::int64_t global_tid = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  What what = What::other;
  Collective collective = Collective::all_reduce;  ///< of a What::collective
  std::optional<NcclPayload> payload;
};

/// Reads NVTX ranges and marks. Returns the calls of NCCL among them.
std::vector<NcclCall> read_ranges(Import&);

}  // namespace underlap::formats::nsys
