// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <filesystem>
#include <latch>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace underlap {

/// How much more of something this process can have, and what sets that bound, in words.
struct Room {
  std::int64_t amount = 0;
  std::string bound;  ///< "ulimit -v 134.2 MB"
};

/// Where the system reports its memory. Tests use their own files.
struct SystemFiles {
  std::filesystem::path proc = "/proc";
  std::filesystem::path control_groups = "/sys/fs/cgroup";
};

/// Memory that new allocations can have without swapping, in bytes: the least of what is free, what the control groups
/// around this process allow (either version), and its address space. What cannot be read bounds nothing.
Room memory_room(const SystemFiles& files = {});

/// Throws MachineError where `bytes` are more than memory_room(). `what` names what they are for.
void require_memory(std::int64_t bytes, std::string_view what);

/// "not enough memory for WHAT: ...", with all that bounds this process's memory.
std::string out_of_memory(std::string_view what);

/// Has large blocks go back to the system as soon as they are freed, for as long as the process lives. glibc keeps them
/// once it has seen a larger one freed, so that arrays that grew leave holes that nothing fills.
void give_back_large_blocks() noexcept;

/// Threads that run at once, for a moment. A caller that is about to start as many threads learns early whether any
/// limit of the machine prevents it.
class TrialThreads {
 public:
  /// Starts `count` threads, which sleep. Throws MachineError with the number that could be started, what bounds it,
  /// and `what` they are for.
  TrialThreads(std::int64_t count, std::string_view what);
  /// Ends them.
  ~TrialThreads();
  TrialThreads(const TrialThreads&) = delete;
  TrialThreads& operator=(const TrialThreads&) = delete;

 private:
  std::latch over_{1};
  std::vector<std::jthread> threads_;  // last: they wait for the above
};

/// "Resource temporarily unavailable; this process has 41 threads (ulimit -u 50)": why a thread could not be started.
std::string no_thread(const std::exception& error);

/// Lets this process open `count` files at once. Throws MachineError where its hard limit does not; `what` they are
/// for.
void require_open_files(std::int64_t count, std::string_view what);

/// "1.5 GB", "27.3 MB", "0.2 MB", "512 bytes"; decimal units, as those of rates are.
std::string in_bytes(std::int64_t bytes);

}  // namespace underlap
