// SPDX-License-Identifier: Apache-2.0
#include "impl/device/one_machine.hpp"

#include <algorithm>
#include <cstddef>
#include <queue>

namespace underlap {
namespace {

struct ShorterTail {
  bool operator()(const MachineJob& a, const MachineJob& b) const { return a.tail < b.tail; }
};

}  // namespace

std::int64_t one_machine_bound_ns(std::vector<MachineJob> jobs) {
  std::sort(jobs.begin(), jobs.end(), [](const MachineJob& a, const MachineJob& b) { return a.head < b.head; });
  std::priority_queue<MachineJob, std::vector<MachineJob>, ShorterTail> ready;
  std::int64_t now = 0;
  std::int64_t end = 0;
  std::size_t next = 0;
  while (next < jobs.size() || !ready.empty()) {
    if (ready.empty()) now = std::max(now, jobs[next].head);
    while (next < jobs.size() && jobs[next].head <= now) ready.push(jobs[next++]);
    MachineJob job = ready.top();
    ready.pop();
    const std::int64_t served = next < jobs.size() ? std::min(job.work, jobs[next].head - now) : job.work;
    now += served;
    job.work -= served;
    if (job.work > 0)
      ready.push(job);
    else
      end = std::max(end, now + job.tail);
  }
  return end;
}

}  // namespace underlap
