// SPDX-License-Identifier: Apache-2.0
#include "research/calibrate/child.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "platform/errors.hpp"

namespace underlap::bench {
namespace {

std::vector<std::string> environment_with(const std::vector<std::pair<std::string, std::string>>& variables) {
  std::vector<std::string> entries;
  for (const auto& [name, value] : variables) entries.push_back(name + "=" + value);
  const auto is_set = [&](std::string_view entry) {
    for (const auto& [name, value] : variables)
      if (entry.starts_with(name + "=")) return true;
    return false;
  };
  for (char** entry = environ; *entry != nullptr; ++entry)
    if (!is_set(*entry)) entries.emplace_back(*entry);
  return entries;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

std::string read_all(int file) {
  std::string text;
  std::array<char, 4096> buffer;
  for (;;) {
    const ssize_t bytes = read(file, buffer.data(), buffer.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(bytes));
  }
}

}  // namespace

std::string run_child(const std::vector<std::string>& arguments,
                      const std::vector<std::pair<std::string, std::string>>& variables) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw MachineError(fmt::format("pipe: {}", std::strerror(errno)));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  std::vector<std::string> words = arguments;
  std::vector<std::string> environment = environment_with(variables);
  pid_t child = 0;
  const int error =
      posix_spawn(&child, words[0].c_str(), &actions, nullptr, pointers(words).data(), pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  const std::string output = error == 0 ? read_all(ends[0]) : "";
  close(ends[0]);
  if (error != 0) throw MachineError(fmt::format("{} cannot be started: {}", arguments[0], std::strerror(error)));
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    throw MachineError(WIFEXITED(status)
                           ? fmt::format("{} exited with status {}", fmt::join(arguments, " "), WEXITSTATUS(status))
                           : fmt::format("{} was killed by signal {}", fmt::join(arguments, " "), WTERMSIG(status)));
  return output;
}

}  // namespace underlap::bench
