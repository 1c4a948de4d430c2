// SPDX-License-Identifier: Apache-2.0
#include "bench/machine/cpu_load.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>

namespace underlap::bench {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;

std::set<int> usable_cpus() {
  std::set<int> cpus;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof(set), &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) cpus.insert(cpu);
  return cpus;
}

std::int64_t ns_of_ticks(std::int64_t ticks) { return ticks * (kNsPerSecond / std::max(1L, ::sysconf(_SC_CLK_TCK))); }

std::int64_t ns_of(const timeval& time) { return time.tv_sec * kNsPerSecond + time.tv_usec * 1000; }

std::string text_of(const std::filesystem::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// Ranks may be processes, each the child of one of our threads.
// "4712 4713 " in /proc/PID/task/TID/children.
std::int64_t ns_of_living_children(const std::string& process) {
  std::int64_t ticks = 0;
  std::error_code ignored;
  for (const auto& task : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", process), ignored)) {
    std::istringstream children(text_of(task.path() / "children"));
    for (int pid = 0; children >> pid;)
      ticks += ticks_of_process(text_of(fmt::format("/proc/{}/stat", pid))).value_or(0);
  }
  return ns_of_ticks(ticks);
}

std::int64_t own_ns(std::span<const std::int64_t> others) {
  std::int64_t sum = ns_of_living_children("self");
  for (const std::int64_t pid : others)
    sum += ns_of_ticks(ticks_of_process(text_of(fmt::format("/proc/{}/stat", pid))).value_or(0)) +
           ns_of_living_children(std::to_string(pid));
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    if (::getrusage(who, &usage) == 0) sum += ns_of(usage.ru_utime) + ns_of(usage.ru_stime);
  }
  return sum;
}

}  // namespace

// "cpu3 4705 150 1120 16250 520 0 17 42 0 0"
CpuTicks ticks_of_cpus(std::istream& proc_stat, const std::set<int>& cpus) {
  CpuTicks ticks;
  for (std::string line; std::getline(proc_stat, line);) {
    int cpu = -1;
    std::int64_t user = 0, nice = 0, system = 0, idle = 0, io_wait = 0, interrupts = 0, soft_interrupts = 0, stolen = 0;
    if (!line.starts_with("cpu") || line.starts_with("cpu ")) continue;
    std::istringstream words(line.substr(3));
    words >> cpu >> user >> nice >> system >> idle >> io_wait >> interrupts >> soft_interrupts >> stolen;
    if (!cpus.contains(cpu)) continue;
    ticks.processes += user + nice + system;
    ticks.stolen += stolen;
  }
  return ticks;
}

// "4711 (underlap) S 1 4711 4711 0 -1 4194560 812 0 0 0 120 35 10 2 20 0 ...": 120, 35, 10 and 2
std::optional<std::int64_t> ticks_of_process(const std::string& stat) {
  constexpr int kWordsBefore = 11;               // state to cmajflt
  const std::size_t name_end = stat.rfind(')');  // a name may hold anything
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream words(stat.substr(name_end + 1));
  std::string word;
  for (int i = 0; i < kWordsBefore; ++i) words >> word;
  std::int64_t user = 0, system = 0, user_of_ended = 0, system_of_ended = 0;
  if (!(words >> user >> system >> user_of_ended >> system_of_ended)) return std::nullopt;
  return user + system + user_of_ended + system_of_ended;
}

CpuTimes cpu_times(std::span<const std::int64_t> others) {
  const std::set<int> cpus = usable_cpus();
  std::ifstream proc_stat("/proc/stat");
  const CpuTicks ticks = ticks_of_cpus(proc_stat, cpus);
  return {.wall_ns = std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count(),
          .cpus = static_cast<std::int32_t>(cpus.size()),
          .processes_ns = ns_of_ticks(ticks.processes),
          .stolen_ns = ns_of_ticks(ticks.stolen),
          .own_ns = own_ns(others)};
}

void add_load(report::BlockLoad& load, const CpuTimes& before, const CpuTimes& after) {
  const std::int64_t own_ns = std::max<std::int64_t>(0, after.own_ns - before.own_ns);
  load.cpus = after.cpus;
  load.wall_ns += after.wall_ns - before.wall_ns;
  load.own_cpu_ns += own_ns;
  // Not cut at 0: of short blocks the ticks are off by as much either way, and sums over blocks are right.
  load.other_cpu_ns += after.processes_ns - before.processes_ns - own_ns;
  load.stolen_cpu_ns += after.stolen_ns - before.stolen_ns;
}

}  // namespace underlap::bench
