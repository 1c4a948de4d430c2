// SPDX-License-Identifier: Apache-2.0
#include "bench/commands/viewer_program.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <system_error>

#include "platform/errors.hpp"
#include "platform/exit_code.hpp"

namespace underlap::bench {
namespace {

constexpr const char* kViewer = "underlap-viewer";

// In this program's folder, or else where the shell would find it.
std::string viewer_program() {
  std::error_code ignored;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", ignored);
  const std::filesystem::path installed = self.parent_path() / kViewer;
  return std::filesystem::exists(installed, ignored) ? installed.string() : kViewer;
}

// The viewer and its arguments.
class ViewerCommand {
 public:
  explicit ViewerCommand(const std::vector<std::string>& arguments) : words_{viewer_program()} {
    words_.insert(words_.end(), arguments.begin(), arguments.end());
    for (std::string& word : words_) pointers_.push_back(word.data());
    pointers_.push_back(nullptr);
  }

  const char* program() const { return words_.front().c_str(); }
  char* const* words() const { return pointers_.data(); }

 private:
  std::vector<std::string> words_;
  std::vector<char*> pointers_;
};

std::string no_viewer_text() {
  return std::string("the viewer was not found (") + kViewer +
         ")\n  in a checkout, `bench/run --viewer` installs Qt and builds it";
}

// Standard output stays free for what the caller prints; what the viewer says goes to standard error.
int started_and_ended(const std::vector<std::string>& arguments) {
  const ViewerCommand command(arguments);
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, command.program(), &files, nullptr, command.words(), environ);
  ::posix_spawn_file_actions_destroy(&files);
  if (error == ENOENT) throw std::invalid_argument(no_viewer_text());
  if (error != 0) throw MachineError(std::string(kViewer) + " cannot be started: " + std::strerror(error));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

void start_viewer(const std::vector<std::string>& arguments) {
  const ViewerCommand command(arguments);
  ::execvp(command.program(), command.words());
  if (errno == ENOENT) throw std::invalid_argument("view: " + no_viewer_text());
  throw MachineError(std::string(command.program()) + " cannot be started: " + std::strerror(errno));
}

void run_viewer(const std::vector<std::string>& arguments) {
  const int code = started_and_ended(arguments);
  if (code == kBadInput) throw std::invalid_argument("the viewer rejected the input, see its message above");
  if (code != kOk) throw MachineError("the viewer failed, see its message above");
}

}  // namespace underlap::bench
