// SPDX-License-Identifier: Apache-2.0
#include "impl/device/host/thread_priority.hpp"

#include <sys/syscall.h>
#include <unistd.h>

namespace underlap::host {
namespace {

constexpr std::uint64_t kShortestSliceNs = 100'000;

// The first version of the kernel's sched_attr; glibc 2.36 does not declare it.
struct SchedulingAttributes {
  std::uint32_t size = sizeof(SchedulingAttributes);
  std::uint32_t policy = 0;  // SCHED_OTHER
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime_ns = 0;  // for SCHED_OTHER: the time slice
  std::uint64_t deadline_ns = 0;
  std::uint64_t period_ns = 0;
};

}  // namespace

void prefer_on_wake_up(std::int64_t thread_id) {
  SchedulingAttributes attributes;
  if (syscall(SYS_sched_getattr, thread_id, &attributes, sizeof(attributes), 0) != 0) return;
  attributes.runtime_ns = kShortestSliceNs;
  syscall(SYS_sched_setattr, thread_id, &attributes, 0);
}

}  // namespace underlap::host
