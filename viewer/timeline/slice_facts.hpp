// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "profiler/analysis/trace_summary.hpp"
#include "viewer/timeline/timeline.hpp"

namespace underlap::viewer {

/// One line of what is known of a slice.
struct Fact {
  std::string label;
  std::string value;
};

/// All facts about a slice from the trace and its analysis. They include what it is and the evidence for that, times,
/// its exposed part, the rank that it waited for, bytes and rates. They also include the setting that would hide it, if
/// such a setting is off. What is not known has no line.
std::vector<Fact> facts_of(const Timeline&, const analysis::Summary&, std::uint32_t slice);

/// The first lines alone, for a tooltip: name, times, exposure.
std::vector<Fact> short_facts_of(const Timeline&, std::uint32_t slice);

/// What a rank does at a moment, as its strip shows it: what, of which modes, for how long.
std::vector<Fact> strip_facts_of(const Timeline&, std::int32_t rank, std::int64_t time_ns);

/// Who kept a communication waiting, and why it is exposed, in a few words; empty and -1 where that is not known.
struct ExposureBlame {
  std::int32_t late_rank = -1;  ///< whose time caused most of the wait (analysis::LateArrival::blamed_rank)
  std::string cause;
};

/// Of each of some slices of communication. Visits all communications.
std::vector<ExposureBlame> blames_of(const analysis::Summary&, const std::vector<std::uint32_t>& slices);

/// The slices of the other members of a communication, by rank; empty where it was not matched.
std::vector<std::uint32_t> members_of(const analysis::Summary&, std::uint32_t slice);

/// "12.3 us", "4.560 ms", "1.250 s".
std::string time_text(std::int64_t ns);

}  // namespace underlap::viewer
