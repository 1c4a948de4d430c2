// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profiler/analysis/windows.hpp"
#include "profiler/trace/trace.hpp"
#include "tests/profiler/slices.hpp"

namespace underlap::testing_support {

/// A trace of one rank with a thread, its ranges and two streams; times in microseconds.
class ForeignTrace {
 public:
  Trace trace;

  void range(const std::string& name, std::int64_t begin_us, std::int64_t end_us) {
    add({rank_, 100, "main", TrackKind::range}, name, begin_us, end_us, Kind::none);
  }
  void kernel(const std::string& name, std::int64_t launched_us, std::int64_t begin_us, std::int64_t end_us) {
    add({rank_, 100, "main", TrackKind::thread}, "cudaLaunchKernel", launched_us, launched_us + 1, Kind::none);
    add({rank_, 7, "stream 7"}, name, begin_us, end_us, Kind::compute);
    const auto last = static_cast<std::uint32_t>(trace.size());
    trace.flows.push_back({last - 2, last - 1, FlowKind::launch});
  }
  void kernel(const std::string& name, std::int64_t begin_us, std::int64_t end_us) {
    add({rank_, 7, "stream 7"}, name, begin_us, end_us, Kind::compute);
  }
  void communication(const std::string& name, std::int64_t begin_us, std::int64_t end_us) {
    add({rank_, 20, "stream 20"}, name, begin_us, end_us, Kind::communication);
  }
  void set_rank(std::int32_t rank) { rank_ = rank; }

 private:
  void add(const Track& track, const std::string& name, std::int64_t begin_us, std::int64_t end_us, Kind kind) {
    trace.add(foreign_slice(trace.add_track(track), begin_us * 1000, end_us * 1000, name, kind));
  }
  std::int32_t rank_ = 0;
};

/// The same windows in microseconds.
inline std::vector<analysis::Window> in_us(std::vector<analysis::Window> windows) {
  for (analysis::Window& window : windows) {
    window.begin_ns /= 1000;
    window.end_ns /= 1000;
  }
  return windows;
}

}  // namespace underlap::testing_support
