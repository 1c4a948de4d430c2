// SPDX-License-Identifier: Apache-2.0
#include "platform/memory_room.hpp"

#include <fmt/format.h>
#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>

#include "platform/errors.hpp"

namespace underlap {
namespace {

namespace fs = std::filesystem;

// The number in a file; nullopt if it has none ("max"), or if the number means no limit.
std::optional<std::int64_t> number_in(const fs::path& path) {
  constexpr std::int64_t kUnlimited = std::int64_t{1} << 60;  // the first version of control groups writes nearly 2^63
  std::int64_t value = 0;
  if (!(std::ifstream(path) >> value) || value >= kUnlimited) return std::nullopt;
  return value;
}

// The number after `key` in a file of such lines: "MemAvailable:   123 kB".
std::int64_t value_of(const fs::path& path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    std::int64_t value = 0;
    if (words >> name >> value && name == key) return value;
  }
  return 0;
}

// "0::/user.slice/job_17", or of the first version "4:memory,hugetlb:/docker/ab12".
// The folders of the control groups around this process that govern `controller`, from its own outward. A container
// often sees its own group as the root: a folder that is not there is passed over.
std::vector<fs::path> control_groups(const SystemFiles& files, std::string_view controller) {
  std::vector<fs::path> folders;
  std::ifstream list(files.proc / "self/cgroup");
  for (std::string line; std::getline(list, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string names = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool is_unified = names == ",,";
    if (!is_unified && names.find(fmt::format(",{},", controller)) == std::string::npos) continue;
    const fs::path root = is_unified ? files.control_groups : files.control_groups / controller;
    fs::path inner = fs::path(line.substr(second + 1)).relative_path();
    for (; !inner.empty(); inner = inner.parent_path()) folders.push_back(root / inner);
    folders.push_back(root);
  }
  return folders;
}

// The free memory of one control group. Cached file pages that are not in use count as free: "inactive_file 123904" in
// memory.stat.
std::optional<Room> room_of_group(const fs::path& folder) {
  const bool is_unified = fs::exists(folder / "memory.max");
  const auto limit = number_in(folder / (is_unified ? "memory.max" : "memory.limit_in_bytes"));
  const auto used = number_in(folder / (is_unified ? "memory.current" : "memory.usage_in_bytes"));
  if (!limit || !used) return std::nullopt;
  const std::int64_t cached = value_of(folder / "memory.stat", is_unified ? "inactive_file" : "total_inactive_file");
  return Room{*limit - *used + cached, fmt::format("cgroup limit of {}", in_bytes(*limit))};
}

std::optional<Room> free_memory(const SystemFiles& files) {
  const std::int64_t kilobytes = value_of(files.proc / "meminfo", "MemAvailable:");
  if (kilobytes == 0) return std::nullopt;
  return Room{kilobytes * 1024, fmt::format("{} free", in_bytes(kilobytes * 1024))};
}

std::optional<std::int64_t> limit_of(int resource) {
  rlimit limit{};
  if (::getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return std::nullopt;
  return static_cast<std::int64_t>(limit.rlim_cur);
}

std::optional<Room> address_space(const SystemFiles& files) {
  const auto limit = limit_of(RLIMIT_AS);
  if (!limit) return std::nullopt;
  return Room{*limit - value_of(files.proc / "self/status", "VmSize:") * 1024,
              fmt::format("ulimit -v {}", in_bytes(*limit))};
}

std::vector<Room> memory_rooms(const SystemFiles& files) {
  std::vector<Room> rooms;
  for (const std::optional<Room>& room : {free_memory(files), address_space(files)})
    if (room) rooms.push_back(*room);
  for (const fs::path& folder : control_groups(files, "memory"))
    if (const std::optional<Room> room = room_of_group(folder)) rooms.push_back(*room);
  return rooms;
}

std::string bounds_of_threads() {
  std::vector<std::string> bounds;
  if (const auto limit = limit_of(RLIMIT_NPROC)) bounds.push_back(fmt::format("ulimit -u {}", *limit));
  if (const auto limit = limit_of(RLIMIT_AS)) bounds.push_back(fmt::format("ulimit -v {}", in_bytes(*limit)));
  if (const auto limit = limit_of(RLIMIT_STACK)) bounds.push_back(fmt::format("{} of stack each", in_bytes(*limit)));
  for (const fs::path& folder : control_groups({}, "pids"))
    if (const auto limit = number_in(folder / "pids.max"))
      bounds.push_back(fmt::format("a cgroup limit of {} threads", *limit));
  return bounds.empty() ? "no limit is set" : fmt::format("{}", fmt::join(bounds, ", "));
}

}  // namespace

std::string in_bytes(std::int64_t bytes) {
  constexpr std::int64_t kMega = 1'000'000, kGiga = 1'000'000'000;
  if (bytes < kMega / 10) return fmt::format("{} bytes", bytes);
  if (bytes < kGiga) return fmt::format("{:.1f} MB", static_cast<double>(bytes) / kMega);
  return fmt::format("{:.1f} GB", static_cast<double>(bytes) / kGiga);
}

Room memory_room(const SystemFiles& files) {
  const std::vector<Room> rooms = memory_rooms(files);
  const auto least = std::ranges::min_element(rooms, [](const Room& a, const Room& b) { return a.amount < b.amount; });
  if (least == rooms.end()) return {std::numeric_limits<std::int64_t>::max(), "no limit is known"};
  return {std::max<std::int64_t>(0, least->amount), least->bound};
}

void require_memory(std::int64_t bytes, std::string_view what) {
  const Room room = memory_room();
  if (bytes <= room.amount) return;
  throw MachineError(
      fmt::format("{}: {} needed, {} available ({})", what, in_bytes(bytes), in_bytes(room.amount), room.bound));
}

std::string out_of_memory(std::string_view what) {
  std::vector<std::string> bounds;
  for (const Room& room : memory_rooms({})) bounds.push_back(room.bound);
  return fmt::format("out of memory while {} ({})", what, fmt::join(bounds, ", "));
}

std::string no_thread(const std::exception& error) {
  return fmt::format("{}; this process has {} threads ({})", error.what(), value_of("/proc/self/status", "Threads:"),
                     bounds_of_threads());
}

void give_back_large_blocks() noexcept {
  constexpr int kLarge = 1 << 20;  // bytes
  ::mallopt(M_MMAP_THRESHOLD, kLarge);
}

TrialThreads::TrialThreads(std::int64_t count, std::string_view what) {
  try {
    threads_.reserve(static_cast<std::size_t>(count));
    while (std::cmp_less(threads_.size(), count)) threads_.emplace_back([this] { over_.wait(); });
  } catch (const std::system_error& error) {
    const std::string why = no_thread(error);
    over_.count_down();
    throw MachineError(fmt::format("{}: {} threads are needed at once, but {} could be started: {}", what, count,
                                   threads_.size(), why));
  }
}

TrialThreads::~TrialThreads() { over_.count_down(); }

void require_open_files(std::int64_t count, std::string_view what) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || std::cmp_less_equal(count, limit.rlim_cur)) return;
  const rlim_t before = std::exchange(limit.rlim_cur, std::min(limit.rlim_max, static_cast<rlim_t>(count)));
  if (std::cmp_less_equal(count, limit.rlim_max) && ::setrlimit(RLIMIT_NOFILE, &limit) == 0) return;
  throw MachineError(fmt::format("{}: {} files must be open at once, but ulimit -n is {} (-Hn {})", what, count, before,
                                 limit.rlim_max));
}

}  // namespace underlap
