// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "profiler/trace/communication.hpp"

namespace underlap {

/// One collective as the Inspector plugin of NCCL or RCCL recorded it on one rank.
struct InspectorRecord {
  std::string process;       ///< host name and process id
  std::string communicator;  ///< its hash, equal on all members
  std::string name;          ///< of the communicator; empty: unknown
  std::int32_t rank = 0;     ///< in the communicator
  std::int32_t num_ranks = 0;
  Collective collective = Collective::all_reduce;
  std::int64_t sequence = 0;  ///< among those of its communicator and collective, from 0
  std::int64_t bytes = 0;     ///< message size as the library counts it: data of one rank
  std::int64_t duration_ns = 0;
  double bus_gb_per_s = 0;
  std::int64_t start_ns = -1;  ///< Unix time at which its first kernel started; -1: not recorded
};

}  // namespace underlap
