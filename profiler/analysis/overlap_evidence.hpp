// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/analysis/windows.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::analysis {

/// Why a communication was exposed, as far as a trace can prove it; in the order in which they are looked for.
enum class ExposedCause : std::uint8_t {
  same_stream,       ///< the compute enqueued next is on the same stream, which runs one operation at a time
  no_compute_after,  ///< no compute begins after its start in the window
  held_by_stream,    ///< an earlier operation held its stream while compute ran that could have hidden it
  one_connection,    ///< one hardware queue: the compute enqueued next waited for an operation that started late
  waited_at_once,    ///< no compute started during it, although more was enqueued, and compute hid less than a tenth of
                     ///< it
  outlasted_compute,  ///< compute ran during it, and ended first
  not_shown,          ///< the trace shows none of these
};

/// "same_stream", ...
std::string_view to_string(ExposedCause);
constexpr ExposedCause last_value(ExposedCause) { return ExposedCause::not_shown; }

/// What one cause explains.
struct CauseShare {
  std::int64_t exposed_ns = 0;
  std::int64_t operations = 0;
  std::int64_t longest_ns = 0;  ///< exposed time of its worst operation
  /// The operation that held the stream (held_by_stream), the operation that compute waited for (one_connection), or
  /// the compute that waited (waited_at_once): purpose or name, with the bucket or chunk if there is one.
  std::string other;
};

/// How much of some communication ran under compute, summed over ranks and windows. Slices are cut at their window.
struct OverlapEvidence {
  std::int64_t operations = 0;          ///< that end in a window
  std::int64_t operations_outside = 0;  ///< that end in none
  std::int64_t comm_ns = 0;             ///< of the union of the slices on each rank
  std::int64_t hidden_ns = 0;           ///< of it under compute of the same rank
  std::int64_t transfer_ns = 0;         ///< of comm_ns from the last arrival on
  std::int64_t hidden_transfer_ns = 0;  ///< of it under compute
  std::int64_t unsplit_ns = 0;          ///< of comm_ns where the last arrival is not known
  /// Exposed time by cause. Each operation has one cause, so where operations run side by side it counts twice.
  std::map<ExposedCause, CauseShare> causes;
};

/// Selects the communication, and adds what the trace does not show about its launches.
struct EvidenceRequest {
  std::function<bool(const Tag&)> is_asked;
  bool one_connection = false;  ///< all streams shared one hardware queue
};

/// Finds what ran under compute, and why what did not did not, in many questions about one trace: for each of
/// `requests` the evidence of all communication slices whose tag it `is_asked`. `windows`: as find_windows gives them,
/// of any ranks; those of one rank do not overlap.
///
/// What was enqueued after what is known where slices carry their operation's number in the step, or where flows lead
/// to them from the calls that launched them; elsewhere what begins later counts as enqueued later, and held_by_stream
/// and one_connection are never found.
std::vector<OverlapEvidence> find_evidence(const Trace& trace, std::span<const Window> windows,
                                           std::span<const EvidenceRequest> requests);

}  // namespace underlap::analysis
