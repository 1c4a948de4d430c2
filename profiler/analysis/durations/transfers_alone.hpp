// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "profiler/trace/trace.hpp"

namespace underlap::analysis {

/// The transfers that met no compute of their rank between the last arrival and their end, summed.
struct TransfersAlone {
  std::int64_t count = 0;
  std::int64_t bytes_on_wire = 0;
  std::int64_t ns = 0;  ///< from the last arrival to the end

  /// Bytes on the wire per nanosecond, where each transfer takes `latency_ns` besides. Nullopt without transfers.
  std::optional<double> rate(double latency_ns) const;

  TransfersAlone& operator+=(const TransfersAlone& other);
  friend bool operator==(const TransfersAlone&, const TransfersAlone&) = default;
};

/// Those of a trace whose last arrival is known.
TransfersAlone transfers_alone(const Trace& trace);

}  // namespace underlap::analysis
