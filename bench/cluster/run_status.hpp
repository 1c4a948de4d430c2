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

/// What a run says of itself while it goes on, in the file status.json of its folder (schema underlap.status/1), for
/// whoever looks at the folder from elsewhere.
struct RunStatus {
  std::string host;            ///< name of the machine that rank 0 runs on
  pid_t pid = 0;               ///< of rank 0's process there
  std::string job;             ///< the scheduler's number; empty where none started it
  std::string resume_command;  ///< what a shell goes on with after an early end
  std::int64_t started_s = 0;  ///< Unix time
  std::int64_t updated_s = 0;  ///< likewise: when this was written
  std::int32_t blocks_done = 0;
  std::int32_t blocks_planned = 0;
  std::string doing;                         ///< "block 2 of 5, cell 1 of 4: off"
  std::optional<std::int64_t> seconds_left;  ///< as estimated from the blocks that this process finished
  std::string ended_because;                 ///< empty while it runs and where all is done
};

/// Replaces the status of `folder`. Throws MachineError where it cannot be written.
void write_status(const std::filesystem::path& folder, const RunStatus& status);

/// Reads it; nullopt where there is none. Throws std::invalid_argument, naming the file, for one that is no status.
std::optional<RunStatus> read_status(const std::filesystem::path& folder);

/// Keeps the status of a folder while a run goes on. It writes no more often than every `pace`, since each write waits
/// for the disk; what cannot be written is left: a run does not end because nobody can be told of it. From any thread.
class StatusFile {
 public:
  StatusFile(std::filesystem::path folder, RunStatus status, std::chrono::seconds pace = std::chrono::seconds(2));

  /// Where the run is now.
  void say(std::string doing, std::int32_t blocks_done, std::optional<std::int64_t> seconds_left);
  /// It ended: `why` is empty where all was done, which results.json says, so that the file is taken away.
  void end(const std::string& why, std::int32_t blocks_done);

 private:
  void write() noexcept;

  std::mutex mutex_;  ///< whoever ends the run does not wait long for who was writing
  std::filesystem::path folder_;
  RunStatus status_;
  std::chrono::seconds pace_;
  std::optional<std::chrono::steady_clock::time_point> written_;
};

}  // namespace underlap::bench
