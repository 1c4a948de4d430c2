// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "profiler/analysis/communications.hpp"
#include "profiler/analysis/windows.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::analysis {

/// What is played differently. Neither: everything as it was.
struct Change {
  std::optional<Mode> without_mode;          ///< communication of this mode takes no time and waits for nobody
  std::optional<std::int32_t> without_rank;  ///< a rank that comes no later than the others to what it comes last to
};

/// How long a trace takes when it is played again. Nanoseconds.
struct Replayed {
  std::int64_t span_ns = 0;  ///< from the first start to the last end
  std::vector<std::int64_t>
      step_ns;  ///< of each step, by block and step: from its last begin to its last end on any rank

  friend bool operator==(const Replayed&, const Replayed&) = default;
};

/// A question of "what if" with its answer.
struct WhatIf {
  std::string name;            ///< "without dp", "without rank 7's lateness"
  std::string assumption;      ///< one sentence
  std::int64_t before_ns = 0;  ///< median step, or the span of a trace without steps
  std::int64_t after_ns = 0;   ///< likewise
  bool is_step = false;        ///< the former

  std::int64_t saved_ns() const { return before_ns - after_ns; }
};

/// Plays a trace again with changes: each piece of work begins as long after the latest end of what had ended on its
/// rank before it began as it did, and takes as long; a matched communication ends as long after its last member came
/// as it did. Without a change every time comes out as it was. The trace comes from match_and_align and outlives this;
/// `steps` are windows of its ranks.
///
/// One replayer answers many questions: n log n to build it, linear for each.
class Replayer {
 public:
  Replayer(const Trace&, const Communications&, std::span<const Window> steps);

  Replayed replay(const Change&) const;

 private:
  struct Event {
    std::int64_t time_ns = 0;
    std::uint32_t index = 0;  ///< of a slice, or of a step
    std::uint8_t order = 0;   ///< at one time
    std::uint8_t what = 0;
  };
  class Run;

  void read_matches(const Communications&);
  std::int64_t start(std::uint32_t slice) const;
  std::int64_t end(std::uint32_t slice) const;

  const Trace& trace_;
  std::vector<std::int64_t> offset_ns_;     ///< by track
  std::vector<std::size_t> rank_of_track_;  ///< index into ranks_
  std::vector<std::int32_t> ranks_;
  std::vector<Window> steps_;
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> matches_of_;  ///< of slices
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> waited_for_;  ///< those whose last member it waited for
  std::unordered_map<std::uint32_t, std::int64_t> last_arrival_ns_;           ///< of slices that did: of these members
  std::vector<std::size_t> num_members_;                                      ///< of matches
  std::vector<bool> is_schedule_;                                             ///< of matches: messages of a pipeline
  std::vector<Event> events_;
};

/// The step without the exposure of each mode, and without the lateness of `late_rank`; those that save most first.
std::vector<WhatIf> what_if(const Trace&, const Communications&, std::span<const Window> steps,
                            std::optional<std::int32_t> late_rank);

}  // namespace underlap::analysis
