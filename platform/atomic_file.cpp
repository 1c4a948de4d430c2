// SPDX-License-Identifier: Apache-2.0
#include "platform/atomic_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include "platform/errors.hpp"

namespace underlap {
namespace {

[[noreturn]] void fail(const char* what, const std::filesystem::path& path, int code) {
  throw MachineError(fmt::format("cannot {} {}: {}", what, path.string(), system_reason(code)));
}

class Descriptor {
 public:
  Descriptor(const std::filesystem::path& path, int flags) : fd_(::open(path.c_str(), flags | O_CLOEXEC, 0644)) {
    if (fd_ < 0) fail("open", path, errno);
  }
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return fd_; }
  int close() { return ::close(std::exchange(fd_, -1)); }

 private:
  int fd_;
};

void write_all(int fd, std::string_view text, const std::filesystem::path& path) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("write", path, errno);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void write_synced(const std::filesystem::path& path, std::string_view text) {
  Descriptor file(path, O_WRONLY | O_CREAT | O_TRUNC);
  write_all(file.get(), text, path);
  if (::fsync(file.get()) != 0) fail("sync", path, errno);
  // Some network file systems report a full disk here only.
  if (file.close() != 0) fail("close", path, errno);
}

void sync_folder(const std::filesystem::path& folder) {
  const Descriptor descriptor(folder, O_RDONLY | O_DIRECTORY);
  // EINVAL: a file system that has no notion of syncing a folder.
  if (::fsync(descriptor.get()) != 0 && errno != EINVAL) fail("sync folder", folder, errno);
}

// NAME.PID.tmp: of which process it is.
std::optional<pid_t> writer_of(const std::filesystem::path& file) {
  if (file.extension() != ".tmp" || !file.stem().has_extension()) return std::nullopt;
  const std::string digits = file.stem().extension().string().substr(1);
  pid_t writer = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), writer);
  const bool is_number = error == std::errc() && end == digits.data() + digits.size() && writer > 0;
  return is_number ? std::optional(writer) : std::nullopt;
}

[[noreturn]] void refuse(const std::string& option, const std::string& path, const std::string& why,
                         const std::string& mend) {
  throw std::invalid_argument(fmt::format("{} {}: cannot be written: {}\n  {}", option, path, why, mend));
}

// Files are replaced by new ones beside them, so what counts is whether the folder takes one.
void check_folder_takes_a_file(const std::string& option, const std::string& path,
                               const std::filesystem::path& folder) {
  const std::filesystem::path trial = folder / fmt::format(".underlap-{}.trial", ::getpid());
  const int file = ::open(trial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  const std::error_code error(errno, std::generic_category());
  if (file < 0) refuse(option, path, error.message(), "name a place that you may write to");
  ::close(file);
  ::unlink(trial.c_str());
}

}  // namespace

void write_file_atomically(const std::filesystem::path& path, std::string_view text) {
  std::filesystem::path temporary = path;
  temporary += fmt::format(".{}.tmp", ::getpid());
  try {
    write_synced(temporary, text);
    if (std::rename(temporary.c_str(), path.c_str()) != 0) fail("replace", path, errno);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  sync_folder(path.has_parent_path() ? path.parent_path() : ".");
}

void remove_temporary_files(const std::filesystem::path& folder, bool own) noexcept try {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::optional<pid_t> writer = writer_of(entry.path());
    if (!writer || !entry.is_regular_file(ignored)) continue;
    const bool is_left = *writer == ::getpid() ? own : ::kill(*writer, 0) != 0 && errno == ESRCH;
    if (is_left) std::filesystem::remove(entry.path(), ignored);
  }
} catch (const std::exception&) {  // a folder that is changed meanwhile, or no memory: they stay
}

void check_output_file(const std::string& option, const std::string& path) {
  if (path.empty() || path == "-") return;
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) refuse(option, path, "is a folder", "name a file in it");
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (folder.empty()) folder = ".";
  if (!std::filesystem::is_directory(folder, error))
    refuse(option, path, folder.string() + " is no folder", "create it, or name another file");
  check_folder_takes_a_file(option, path, folder);
}

void check_output_folder(const std::string& option, const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) refuse(option, folder, error.message(), "name a folder that you may write to");
  check_folder_takes_a_file(option, folder, folder);
}

}  // namespace underlap
