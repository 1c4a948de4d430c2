// SPDX-License-Identifier: Apache-2.0
#include "platform/input_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <vector>

#include "platform/file_descriptor.hpp"
#include "platform/suggestion.hpp"

namespace underlap {
namespace {

[[noreturn]] void refuse(const std::filesystem::path& file, std::string_view why) {
  throw std::invalid_argument(fmt::format("{}: {}", file.string(), why));
}

/// Somebody else's end of it is open already, so that reading comes to an end.
bool is_given_pipe(const std::filesystem::path& file) {
  const std::string name = file.string();
  return name == "/dev/stdin" || name.starts_with("/dev/fd/") || name.starts_with("/proc/self/fd/");
}

/// The name in the file's folder that may have been meant, or that one is wanted.
std::string name_beside(const std::filesystem::path& file) {
  constexpr std::size_t kMost = 1000;
  std::vector<std::string> names;
  std::error_code error;
  const auto folder = file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end && names.size() < kMost;
       at.increment(error))
    names.push_back(at->path().filename().string());
  const std::filesystem::path before = file.has_parent_path() ? folder / "" : "";
  const std::string meant = did_you_mean(file.filename().string(), names, before.string());
  return meant.empty() ? "; name one that is there" : meant;
}

void check_kind(const std::filesystem::path& file, mode_t mode) {
  if (S_ISREG(mode) || (S_ISFIFO(mode) && is_given_pipe(file))) return;
  if (S_ISDIR(mode)) refuse(file, "a directory, not a file; name a file in it");
  if (S_ISFIFO(mode)) refuse(file, "a named pipe, not a file: nobody may ever write to it; name a file");
  if (S_ISSOCK(mode)) refuse(file, "a socket, not a file; name a file");
  refuse(file, "a device, not a file; name a file");
}

}  // namespace

std::string read_input_file(const std::filesystem::path& file, std::size_t most) {
  // Without O_NONBLOCK a named pipe that nobody writes to is waited for before anyone could see what it is.
  const FileDescriptor open_file(::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (open_file.get() < 0)
    refuse(file, errno == ENOENT || errno == ENOTDIR
                     ? "no such file" + name_beside(file)
                     : fmt::format("cannot be opened for reading: {}; name another", std::strerror(errno)));
  struct stat status {};
  if (::fstat(open_file.get(), &status) != 0) refuse(file, std::strerror(errno));
  check_kind(file, status.st_mode);
  ::fcntl(open_file.get(), F_SETFL, 0);
  constexpr std::size_t kPart = 1 << 20;
  std::string text;
  while (text.size() < most) {
    const std::size_t begin = text.size();
    text.resize(begin + std::min(kPart, most - begin));
    const ssize_t count = ::read(open_file.get(), text.data() + begin, text.size() - begin);
    text.resize(begin + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    if (count < 0 && errno != EINTR)
      refuse(file, fmt::format("cannot be read: {}; name another", std::strerror(errno)));
    if (count == 0) break;
  }
  return text;
}

}  // namespace underlap
