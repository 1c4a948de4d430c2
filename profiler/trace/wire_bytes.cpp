// SPDX-License-Identifier: Apache-2.0
#include "profiler/trace/wire_bytes.hpp"

namespace underlap {

std::int64_t bytes_sent(Collective collective, std::int64_t bytes, std::int64_t ranks) {
  if (collective == Collective::send) return bytes;
  if (ranks <= 0) return 0;
  switch (collective) {
    case Collective::all_gather:
    case Collective::broadcast:
    case Collective::reduce_scatter:
    case Collective::all_to_all: return bytes / ranks * (ranks - 1);
    // 2 bytes (ranks - 1) / ranks, rounded down, where that product would overflow, too.
    case Collective::all_reduce: return 2 * bytes - (2 * bytes + ranks - 1) / ranks;
    case Collective::send:
    case Collective::receive: break;
  }
  return 0;
}

}  // namespace underlap
