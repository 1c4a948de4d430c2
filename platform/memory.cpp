// SPDX-License-Identifier: Apache-2.0
#include "platform/memory.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace underlap {
namespace {

constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::max();

std::int64_t system_bytes() {
  std::ifstream stream("/proc/meminfo");
  std::string word;
  std::int64_t kilobytes = 0;
  while (stream >> word)
    if (word == "MemAvailable:") return stream >> kilobytes ? kilobytes * 1024 : kUnknown;
  return kUnknown;
}

// What is left of the address space.
std::int64_t limit_bytes() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kUnknown;
  std::ifstream stream("/proc/self/statm");
  std::int64_t pages = 0;
  if (!(stream >> pages)) return kUnknown;
  const std::int64_t taken = pages * ::sysconf(_SC_PAGESIZE);
  return std::max<std::int64_t>(0, static_cast<std::int64_t>(limit.rlim_cur) - taken);
}

}  // namespace

std::int64_t available_memory_bytes() { return std::min(system_bytes(), limit_bytes()); }

}  // namespace underlap
