// SPDX-License-Identifier: Apache-2.0
#include "platform/file_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "platform/errors.hpp"

namespace underlap {
namespace {

FileDescriptor open_file(const std::filesystem::path& path) {
  FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!file) throw MachineError(fmt::format("cannot write {}: {}", path.string(), system_reason(errno)));
  return file;
}

// The file holds "process 4711 on node1".
std::string holder_of(const FileDescriptor& file) {
  std::array<char, 256> text{};
  const ssize_t got = ::pread(file.get(), text.data(), text.size(), 0);
  return got > 0 ? std::string(text.data(), static_cast<std::size_t>(got)) : "another process";
}

std::string myself() {
  utsname names{};
  return fmt::format("process {} on {}", ::getpid(), ::uname(&names) == 0 ? names.nodename : "this machine");
}

// Its holder removes the file at the end: who waited with it open has then locked a file that has no name.
bool is_at(const std::filesystem::path& path, const FileDescriptor& file) {
  struct stat named {};
  struct stat opened {};
  return ::stat(path.c_str(), &named) == 0 && ::fstat(file.get(), &opened) == 0 && named.st_ino == opened.st_ino &&
         named.st_dev == opened.st_dev;
}

}  // namespace

FileLock::FileLock(std::filesystem::path path) : path_(std::move(path)) {
  do {
    file_ = open_file(path_);
    if (::flock(file_.get(), LOCK_EX | LOCK_NB) == 0) continue;
    if (errno == EWOULDBLOCK) throw FileIsHeld(holder_of(file_));
    why_not_locked_ = system_reason(errno);
    return;
  } while (!is_at(path_, file_));
  const std::string text = myself();
  // On a full disk the lock still holds, but the file does not name its holder.
  [[maybe_unused]] const bool is_cut = ::ftruncate(file_.get(), 0) == 0;
  [[maybe_unused]] const auto written = ::pwrite(file_.get(), text.data(), text.size(), 0);
}

std::optional<std::string> FileLock::holder(const std::filesystem::path& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file || ::flock(file.get(), LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK) return std::nullopt;
  return holder_of(file);
}

FileLock::~FileLock() { ::unlink(path_.c_str()); }

}  // namespace underlap
