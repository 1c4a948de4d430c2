// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "profiler/report/results.hpp"

namespace underlap::bench {

/// Clock ticks of some CPUs since the system started.
struct CpuTicks {
  std::int64_t processes = 0;  ///< user, nice and system; no interrupts, which may be work for anybody
  std::int64_t stolen = 0;     ///< that a hypervisor gave to others
};

/// Those of `cpus` in the text of /proc/stat.
CpuTicks ticks_of_cpus(std::istream& proc_stat, const std::set<int>& cpus);

/// Ticks of a process, its threads and its children that ended, in the text of its /proc/PID/stat; nullopt where that
/// is no such text.
std::optional<std::int64_t> ticks_of_process(const std::string& stat);

/// What the CPUs that this process may use have done up to now, in nanoseconds.
struct CpuTimes {
  std::int64_t wall_ns = 0;  ///< steady clock
  std::int32_t cpus = 0;
  std::int64_t processes_ns = 0;
  std::int64_t stolen_ns = 0;
  std::int64_t own_ns = 0;  ///< this process and its children, and the others that belong to it
};
/// `others`: processes of this machine that belong to this one, each with its children.
CpuTimes cpu_times(std::span<const std::int64_t> others = {});

/// Adds what happened from `before` to `after` to the load of a block.
void add_load(report::BlockLoad& load, const CpuTimes& before, const CpuTimes& after);

}  // namespace underlap::bench
