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

}  // namespace underlap
