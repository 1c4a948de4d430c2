// SPDX-License-Identifier: Apache-2.0
#include "bench/cluster/run_status.hpp"

#include <sys/utsname.h>

#include <exception>
#include <system_error>
#include <thread>
#include <utility>

#include "platform/atomic_file.hpp"
#include "platform/fields/json_fields.hpp"

namespace underlap::bench {
namespace {

constexpr const char* kStatusSchema = "underlap.status/1";
constexpr std::size_t kMostStatusBytes = 1 << 20;
constexpr int kMostTries = 100;  // one second, at 10 ms a try

std::filesystem::path status_file(const std::filesystem::path& folder) { return folder / "status.json"; }

}  // namespace

void visit_fields(fields::Is<RunStatus> auto& status, auto&& field) {
  field("host", status.host);
  field("pid", status.pid);
  field("job", status.job);
  field("resume_command", status.resume_command);
  field("started_unix_s", status.started_s);
  field("updated_unix_s", status.updated_s);
  field("blocks_done", status.blocks_done);
  field("blocks_planned", status.blocks_planned);
  field("doing", status.doing);
  field("seconds_left", status.seconds_left);
  field("ended_because", status.ended_because);
}

std::int64_t unix_now() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string this_host() {
  utsname names{};
  return ::uname(&names) == 0 ? names.nodename : "";
}

void write_status(const std::filesystem::path& folder, const RunStatus& status) {
  write_file_atomically(status_file(folder), fields::document_text(kStatusSchema, status));
}

// {"schema": "underlap.status/1", "host": "node1", "pid": 4711, "job": "17", ..., "blocks_done": 2,
//  "blocks_planned": 5, "doing": "block 3 of 5, cell 1 of 4: off", "seconds_left": 840, "ended_because": ""}
std::optional<RunStatus> read_status(const std::filesystem::path& folder) {
  const std::filesystem::path file = status_file(folder);
  if (!std::filesystem::exists(std::filesystem::symlink_status(file))) return std::nullopt;
  return fields::read_document<RunStatus>(kStatusSchema, file, {.bytes = kMostStatusBytes});
}

StatusFile::StatusFile(std::filesystem::path folder, RunStatus status, std::chrono::seconds pace)
    : folder_(std::move(folder)), status_(std::move(status)), pace_(pace) {
  status_.started_s = unix_now();
}

void StatusFile::say(std::string doing, std::int32_t blocks_done, std::optional<std::int64_t> seconds_left) {
  const std::lock_guard lock(mutex_);
  status_.doing = std::move(doing);
  status_.blocks_done = blocks_done;
  status_.seconds_left = seconds_left;
  if (!written_ || std::chrono::steady_clock::now() - *written_ >= pace_) write();
}

void StatusFile::end(const std::string& why, std::int32_t blocks_done) {
  // Not a timed mutex: GCC 12's thread sanitizer does not see it locked.
  std::unique_lock lock(mutex_, std::defer_lock);
  for (int tries = 0; !lock.try_lock(); ++tries) {
    if (tries == kMostTries) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  if (why.empty()) {
    std::error_code ignored;
    std::filesystem::remove(status_file(folder_), ignored);
    return;
  }
  status_.doing.clear();
  status_.blocks_done = blocks_done;
  status_.seconds_left.reset();
  status_.ended_because = why;
  write();
}

void StatusFile::write() noexcept {
  written_ = std::chrono::steady_clock::now();
  status_.updated_s = unix_now();
  try {
    write_status(folder_, status_);
  } catch (const std::exception&) {  // ignored: writing results.json, which matters, reports the same error
  }
}

}  // namespace underlap::bench
