// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>

namespace underlap::bench {

/// Seconds since 1970.
std::int64_t unix_now();

/// The name of this machine; empty if it has none.
std::string this_host();

/// Status of a running run, in the file status.json of its folder (schema underlap.status/1), readable from any machine
/// that sees the folder.
struct RunStatus {
  std::string host;            ///< name of the machine that rank 0 runs on
  pid_t pid = 0;               ///< of rank 0's process there
  std::string job;             ///< the scheduler's number; empty if no scheduler started it
  std::string resume_command;  ///< shell command that resumes the run after an early end
  std::int64_t started_s = 0;  ///< Unix time
  std::int64_t updated_s = 0;  ///< Unix time of this write
  std::int32_t blocks_done = 0;
  std::int32_t blocks_planned = 0;
  std::string doing;                         ///< "block 2 of 5, cell 1 of 4: off"
  std::optional<std::int64_t> seconds_left;  ///< as estimated from the blocks that this process finished
  std::string ended_because;                 ///< empty while the run is in progress and when it finished
};

/// Replaces the status of `folder`. Throws MachineError if it cannot be written.
void write_status(const std::filesystem::path& folder, const RunStatus& status);

/// Reads the status; nullopt if there is none. Throws std::invalid_argument, naming the file, if it is invalid.
std::optional<RunStatus> read_status(const std::filesystem::path& folder);

/// Keeps the status file of a folder up to date during a run. Writes at most once per `pace`, since each write waits
/// for the disk. Write errors are ignored: a run does not fail because its status is not visible. Thread-safe.
class StatusFile {
 public:
  StatusFile(std::filesystem::path folder, RunStatus status, std::chrono::seconds pace = std::chrono::seconds(2));

  /// Reports progress.
  void say(std::string doing, std::int32_t blocks_done, std::optional<std::int64_t> seconds_left);
  /// Reports the end. `why` is empty if all blocks are done: the file is then removed, since results.json shows that.
  void end(const std::string& why, std::int32_t blocks_done);

 private:
  void write() noexcept;

  std::mutex mutex_;  ///< end() tries it for a limited time only, in case the writing thread hangs
  std::filesystem::path folder_;
  RunStatus status_;
  std::chrono::seconds pace_;
  std::optional<std::chrono::steady_clock::time_point> written_;
};

}  // namespace underlap::bench
