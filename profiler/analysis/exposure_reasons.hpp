// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/trace/name.hpp"
#include "profiler/trace/tag.hpp"

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

/// One communication with exposed time.
struct ExposedCommunication {
  std::uint32_t slice = 0;
  std::int32_t rank = 0;
  std::int64_t exposed_ns = 0;  ///< in counted windows
  ExposureReason reason = ExposureReason::unknown;
  bool is_guessed = false;     ///< the trace does not record the dependency
  NameId waits_for = kNoName;  ///< the work or host call that its start waited for; kNoName: unknown
  NameId holds_up = kNoName;   ///< the compute that waits for it; kNoName: unknown
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

/// "the host launches it late, after waiting in cudaEventSynchronize": a clause about communication.
std::string clause_of(const ExposureReasonSum&);
std::string clause_of(const ExposedCommunication&);

}  // namespace underlap::analysis
