// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/analysis/windows.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::analysis {

/// Why compute does not hide a communication.
enum class ExposureReason : std::uint8_t {
  late_rank,      ///< most of its exposed time is waiting for a late rank
  pipeline,       ///< most of its exposed time is waiting for a pipeline stage whose turn it is to compute
  same_stream,    ///< compute shares its stream, or it runs after other work there
  late_launch,    ///< the host launched it after the compute that could have hidden it
  event,          ///< it waits for work on another stream
  no_other_work,  ///< no independent work is left: the next compute waits for it
  unknown         ///< the trace does not show it
};
inline constexpr std::size_t kNumExposureReasons = static_cast<std::size_t>(ExposureReason::unknown) + 1;

/// "late_rank", ...
std::string_view to_string(ExposureReason);
constexpr ExposureReason last_value(ExposureReason) { return ExposureReason::unknown; }

/// What keeps compute from hiding one communication, by the trace of its rank alone.
struct ExposureCause {
  std::uint32_t slice = 0;  ///< its first
  ExposureReason reason = ExposureReason::unknown;
  bool is_guessed = false;     ///< the trace does not record the dependency
  NameId waits_for = kNoName;  ///< the work or host call that its start waited for; kNoName: unknown
  NameId holds_up = kNoName;   ///< the compute that waits for it; kNoName: unknown
};

/// One communication with exposed time.
struct ExposedCommunication : ExposureCause {
  std::int32_t rank = 0;
  std::int64_t exposed_ns = 0;  ///< in counted windows
};

/// Exposed time of one reason: the sum over ranks and counted windows.
struct ExposureReasonSum {
  Mode mode = Mode::none;
  NameId purpose = kNoName;
  ExposureReason reason = ExposureReason::unknown;
  NameId waits_for = kNoName;
  NameId holds_up = kNoName;
  bool is_guessed = false;
  std::int64_t count = 0;
  std::int64_t exposed_ns = 0;  ///< summed: time of concurrent communications counts for each
};

/// Why the communications of a trace are exposed.
struct ExposureReasons {
  std::vector<ExposedCommunication> communications;  ///< by slice
  std::vector<ExposureReasonSum> sums;               ///< the largest first

  std::int64_t exposed_ns() const;
};

/// Finds the exposed time of each communication in `windows`, and why it is exposed: if it waits for other members for
/// over half of that time, late_rank, or pipeline for a pipeline receive; else its cause. All copies of one collective
/// are one communication.
///
/// causes  one for each communication, by slice
ExposureReasons find_exposure_reasons(const Trace&, std::span<const ExposureCause> causes,
                                      std::span<const Window> windows);

/// "the host launches it late, after waiting in cudaEventSynchronize": a clause about communication.
std::string clause_of(const ExposureReasonSum&);
std::string clause_of(const ExposedCommunication&);

}  // namespace underlap::analysis
