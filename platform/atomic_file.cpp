// SPDX-License-Identifier: Apache-2.0
#include "platform/atomic_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>
#include <stdexcept>
#include <system_error>

#include "platform/errors.hpp"
#include "platform/text/digits.hpp"
#include "platform/text/output.hpp"

namespace underlap {
namespace {

[[noreturn]] void fail(const char* what, const std::filesystem::path& path, int code) {
  throw MachineError(fmt::format("cannot {} {}: {}", what, path.string(), system_reason(code)));
}

void write_all(int fd, std::string_view text, const std::filesystem::path& path) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("write", path, errno);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void write_synced(TemporaryFile& temporary, std::string_view text) {
  const auto& [path, file] = temporary;
  write_all(file.get(), text, path);
  if (::fsync(file.get()) != 0) fail("sync", path, errno);
  // Some network file systems report a full disk here only.
  if (::close(temporary.file.release()) != 0) fail("close", path, errno);
}

void sync_folder(const std::filesystem::path& folder) {
  const FileDescriptor descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!descriptor) fail("open", folder, errno);
  // EINVAL: a file system that has no notion of syncing a folder.
  if (::fsync(descriptor.get()) != 0 && errno != EINVAL) fail("sync folder", folder, errno);
}

// The PID in NAME.PID.RANDOM.tmp.
std::optional<pid_t> writer_of(const std::filesystem::path& file) {
  const std::filesystem::path writer_and_name = file.stem().stem();
  if (file.extension() != ".tmp" || !writer_and_name.has_extension()) return std::nullopt;
  const std::string digits = writer_and_name.extension().string().substr(1);
  const auto writer = parse_number<pid_t>(digits);
  return writer && *writer > 0 ? writer : std::nullopt;
}

// `file` is empty on failure; errno then has the reason.
TemporaryFile open_temporary_file(const std::filesystem::path& path) {
  std::uint64_t random = 0;
  if (::getrandom(&random, sizeof random, 0) != sizeof random) return {path, FileDescriptor()};
  std::filesystem::path temporary = path;
  temporary += fmt::format(".{}.{:016x}.tmp", ::getpid(), random);
  const int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
  return {std::move(temporary), FileDescriptor(file)};
}

[[noreturn]] void refuse(const std::string& option, const std::string& path, const std::string& why,
                         const std::string& mend) {
  throw std::invalid_argument(fmt::format("{} {}: cannot be written: {}\n  {}", option, path, why, mend));
}

// Files are replaced by new files in the same folder, so the folder must be writable.
void check_folder_takes_a_file(const std::string& option, const std::string& path,
                               const std::filesystem::path& folder) {
  const TemporaryFile trial = open_temporary_file(folder / ".underlap");
  if (!trial.file)
    refuse(option, path, std::generic_category().message(errno), "choose a location that you can write to");
  ::unlink(trial.path.c_str());
}

}  // namespace

TemporaryFile create_temporary_file(const std::filesystem::path& path) {
  TemporaryFile temporary = open_temporary_file(path);
  if (!temporary.file)
    throw MachineError(fmt::format("{}: cannot be written: {}", path.string(), system_reason(errno)));
  return temporary;
}

void write_file_atomically(const std::filesystem::path& path, std::string_view text) {
  TemporaryFile temporary = create_temporary_file(path);
  try {
    write_synced(temporary, text);
    if (std::rename(temporary.path.c_str(), path.c_str()) != 0) fail("replace", path, errno);
  } catch (...) {
    ::unlink(temporary.path.c_str());
    throw;
  }
  sync_folder(path.has_parent_path() ? path.parent_path() : ".");
}

bool make_folder(const std::filesystem::path& folder) {
  std::error_code error;
  const bool is_new = std::filesystem::create_directories(folder, error);
  if (error) throw MachineError(fmt::format("cannot create folder {}: {}", folder.string(), error.message()));
  return is_new;
}

void write_output(const std::string& file, std::string_view text) {
  if (file == "-")
    print_data(text);
  else if (!file.empty())
    write_file_atomically(file, text);
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
    refuse(option, path, folder.string() + " is not a folder", "create it, or choose another file");
  check_folder_takes_a_file(option, path, folder);
}

void check_output_folder(const std::string& option, const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) refuse(option, folder, error.message(), "choose a folder that you can write to");
  check_folder_takes_a_file(option, folder, folder);
}

}  // namespace underlap
