// SPDX-License-Identifier: Apache-2.0
#include "platform/temporary_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>

#include "platform/errors.hpp"

namespace underlap {
namespace {

constexpr const char* kPrefix = "underlap-";  // and the process that made it

FileDescriptor locked(const std::filesystem::path& folder) {
  FileDescriptor file(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (file && ::flock(file.get(), LOCK_EX | LOCK_NB) != 0) file.reset();
  return file;
}

// "underlap-4711-Ab3dEf". The owner died and the lock is free. Both are needed: the number of a process in another
// container is unknown here.
bool is_left(const std::filesystem::path& folder) {
  const std::string name = folder.filename().string();
  if (!name.starts_with(kPrefix)) return false;
  const pid_t maker = static_cast<pid_t>(std::atoi(name.c_str() + std::string_view(kPrefix).size()));
  return maker > 0 && ::kill(maker, 0) != 0 && errno == ESRCH && locked(folder);
}

void remove_left_folders(const std::filesystem::path& root) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(root, ignored))
    if (is_left(entry.path())) std::filesystem::remove_all(entry.path(), ignored);
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::error_code none;
  std::filesystem::path root = std::filesystem::temp_directory_path(none);
  if (none) root = "/tmp";
  remove_left_folders(root);
  std::string name = (root / fmt::format("{}{}-XXXXXX", kPrefix, ::getpid())).string();
  if (::mkdtemp(name.data()) == nullptr)
    throw MachineError(fmt::format("cannot create a folder in {}: {}", root.string(), std::strerror(errno)));
  path_ = name;
  held_ = locked(path_);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;  // what another process is writing at this moment stays
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace underlap
