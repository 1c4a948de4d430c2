// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tests/profiler/slices.hpp"

namespace underlap::report {

/// One rank whose step is 0 to 1000 microseconds; operations are numbered as they are added.
class StepOfARank {
 public:
  StepOfARank() {
    trace_.add_track({0, 0, "compute"});
    trace_.add_track({0, 1, "comm"});
    trace_.add_group({intern("dp"), {0, 1}});
    trace_.marks = {{0, 0, 0, 0}, {0, 0, 1, 1'000'000}};
  }
  StepOfARank& compute(std::int64_t start_us, std::int64_t end_us) {
    trace_.add(slice(0, start_us, end_us, {.kind = Kind::compute, .step = 1}));
    return *this;
  }
  /// The last member came at `arrival_us`; -1: nobody knows.
  StepOfARank& comm(std::int64_t start_us, std::int64_t end_us, const char* purpose, Mode mode = Mode::dp,
                    std::int64_t arrival_us = -1) {
    const Tag tag{.kind = Kind::communication, .mode = mode, .purpose = intern(purpose), .step = 1};
    CommunicationRecord record;
    if (arrival_us >= 0) record.last_arrival_ns = arrival_us * 1000;
    trace_.add(slice(1, start_us, end_us, tag), record);
    return *this;
  }
  Trace& trace() { return trace_; }

 private:
  Slice slice(std::uint32_t track, std::int64_t start_us, std::int64_t end_us, const Tag& tag) {
    Slice made = testing_support::slice_of(track, start_us * 1000, (end_us - start_us) * 1000, "operation", tag);
    made.operation = ++num_operations_;
    return made;
  }

  Trace trace_;
  std::uint32_t num_operations_ = 0;
};

}  // namespace underlap::report
