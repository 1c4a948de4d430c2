// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace underlap::analysis {

/// Communication of one mode, or of one purpose, inside one window of one rank. Times are lengths of unions of
/// intervals, in nanoseconds; bench/METRICS.md defines each word.
struct CommunicationSplit {
  std::int64_t comm_ns = 0;
  std::int64_t exposed_ns = 0;
  std::int64_t hidden_ns = 0;
  std::int64_t exposed_wait_ns = 0;  ///< exposed, before the last member of the group arrived
  std::int64_t pipeline_dependency_ns =
      0;  ///< part of exposed_wait: receives of a pipeline alone, whose input was not made yet
  std::int64_t exposed_transfer_ns = 0;  ///< exposed, after it
  std::int64_t exposed_unsplit_ns = 0;   ///< exposed, where the last arrival is not known; the three sum to exposed
  std::int64_t bytes_on_wire = 0;        ///< of the communications that end in the window
  std::int64_t count = 0;                ///< communications that end in the window
  std::int64_t without_bytes = 0;        ///< of these, communications of unknown size

  CommunicationSplit& operator+=(const CommunicationSplit& other) {
    comm_ns += other.comm_ns;
    exposed_ns += other.exposed_ns;
    hidden_ns += other.hidden_ns;
    exposed_wait_ns += other.exposed_wait_ns;
    pipeline_dependency_ns += other.pipeline_dependency_ns;
    exposed_transfer_ns += other.exposed_transfer_ns;
    exposed_unsplit_ns += other.exposed_unsplit_ns;
    bytes_on_wire += other.bytes_on_wire;
    count += other.count;
    without_bytes += other.without_bytes;
    return *this;
  }
  friend bool operator==(const CommunicationSplit&, const CommunicationSplit&) = default;
};

/// One window of one rank, split exactly: the parts sum to the window to the nanosecond.
struct Split {
  std::int64_t window_ns = 0;
  std::int64_t compute_only_ns = 0;
  std::int64_t hidden_ns = 0;  ///< communication under compute
  std::int64_t copy_only_ns = 0;
  std::int64_t idle_ns = 0;
  std::int64_t exposed_wait_ns = 0;     ///< part of exposed_ns() while no communication's members had all arrived
  std::int64_t exposed_unsplit_ns = 0;  ///< part of it of which that is not known, and no known transfer runs
  std::int64_t fused_ns = 0;            ///< part of compute_ns() in fused kernels
  std::int64_t unclassified_ns = 0;     ///< part of compute_ns() in kernels that may be communication
  std::map<std::string, std::int64_t> exposed_ns_by_modes;  ///< "dp", or "dp+tp" where both are exposed at once

  std::map<std::string, CommunicationSplit> modes;     ///< "dp", "tp", ..., "unattributed"
  std::map<std::string, CommunicationSplit> purposes;  ///< "grad_reduce_scatter", ...

  std::int64_t exposed_ns() const {
    std::int64_t sum = 0;
    for (const auto& [mode, ns] : exposed_ns_by_modes) sum += ns;
    return sum;
  }
  std::int64_t exposed_transfer_ns() const { return exposed_ns() - exposed_wait_ns - exposed_unsplit_ns; }
  std::int64_t comm_ns() const { return hidden_ns + exposed_ns(); }
  std::int64_t compute_ns() const { return compute_only_ns + hidden_ns; }

  Split& operator+=(const Split& other) {
    window_ns += other.window_ns;
    compute_only_ns += other.compute_only_ns;
    hidden_ns += other.hidden_ns;
    copy_only_ns += other.copy_only_ns;
    idle_ns += other.idle_ns;
    exposed_wait_ns += other.exposed_wait_ns;
    exposed_unsplit_ns += other.exposed_unsplit_ns;
    fused_ns += other.fused_ns;
    unclassified_ns += other.unclassified_ns;
    for (const auto& [key, ns] : other.exposed_ns_by_modes) exposed_ns_by_modes[key] += ns;
    for (const auto& [mode, split] : other.modes) modes[mode] += split;
    for (const auto& [purpose, split] : other.purposes) purposes[purpose] += split;
    return *this;
  }
  friend bool operator==(const Split&, const Split&) = default;
};

}  // namespace underlap::analysis
