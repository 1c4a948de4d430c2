// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profiler/compare/trace_change.hpp"
#include "tests/profiler/slices.hpp"

namespace underlap::compare {

/// What a slice of a test is.
struct Work {
  std::string name;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  Kind kind = Kind::compute;
  std::int32_t stream = 0;
  std::int32_t layer = -1;
  std::int32_t bucket = -1;
  std::uint32_t grid = 0;
};

/// A trace of `steps` steps of a rank, each 1000 ns after the last mark, that all hold `work`. With tags, the name is
/// the purpose.
class Steps {
 public:
  Steps& add(std::int32_t rank, std::int32_t steps, const std::vector<Work>& work, bool has_tags = true,
             std::int64_t length_ns = 1000) {
    for (std::int32_t step = 0; step <= steps; ++step)
      trace_.marks.push_back({.rank = rank, .block = 0, .step = step, .time_ns = step * length_ns});
    for (std::int32_t step = 0; step < steps; ++step)
      for (const Work& one : work) add(rank, step * length_ns, one, has_tags);
    return *this;
  }

  // At a time since the first mark, without tags.
  Steps& add_once(std::int32_t rank, const Work& work) {
    add(rank, 0, work, false);
    return *this;
  }

  const Trace& trace() const { return trace_; }

 private:
  void add(std::int32_t rank, std::int64_t offset, const Work& work, bool has_tags) {
    const std::uint32_t track =
        trace_.add_track({.rank = rank, .stream = work.stream, .name = "s" + std::to_string(work.stream)});
    Slice slice = testing_support::slice_of(track, offset + work.start_ns, work.end_ns - work.start_ns, work.name,
                                            {.kind = work.kind});
    slice.tag.mode = work.kind == Kind::communication ? Mode::dp : Mode::none;
    if (has_tags) slice.tag.purpose = slice.name;
    slice.tag.layer = work.layer;
    slice.tag.bucket = work.bucket;
    slice.shape.grid = {work.grid, 1, 1};
    trace_.add(slice);
  }

  Trace trace_;
};

inline TraceChange change_of(const Steps& from, const Steps& to) {
  const analysis::Summary of_from = analysis::summarize(from.trace()), of_to = analysis::summarize(to.trace());
  return compare_traces({from.trace(), of_from}, {to.trace(), of_to});
}

}  // namespace underlap::compare
