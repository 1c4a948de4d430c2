// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "profiler/trace/communication.hpp"

namespace underlap {

/// Bytes that one of `ranks` members sends. `bytes` is the size of the whole buffer, or of the message of a send or
/// receive, as nccl-tests counts them; each rank of an all-to-all sends as much to each. 0 for receive, and for a group
/// of unknown size (`ranks` 0). Of a broadcast it is the mean of the members: chains and trees send the buffer once to
/// each member but the root.
///
///   all_gather, reduce_scatter, all_to_all, broadcast   bytes (ranks - 1) / ranks
///   all_reduce                                          2 bytes (ranks - 1) / ranks
///   send                                                bytes
std::int64_t bytes_sent(Collective collective, std::int64_t bytes, std::int64_t ranks);

}  // namespace underlap
