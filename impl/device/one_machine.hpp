// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace underlap {

/// Work for something that serves one piece of work at a time. Nanoseconds.
struct MachineJob {
  std::int64_t head = 0;  ///< it cannot begin earlier
  std::int64_t work = 0;
  std::int64_t tail = 0;  ///< what must follow its end
};

/// The least time in which all jobs and what follows them can be over, in whatever order they are served, also where
/// they are interrupted or served a part at a time: the largest over all subsets of least head + sum of work + least
/// tail. 0 without jobs. O(n log n).
/// Source: Jackson 1955's preemptive rule, longest tail first; Carlier 1982.
std::int64_t one_machine_bound_ns(std::vector<MachineJob> jobs);

}  // namespace underlap
