// SPDX-License-Identifier: Apache-2.0
#include "bench/cluster/scheduler.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "platform/child_process.hpp"

namespace underlap::bench {
namespace {

constexpr std::chrono::seconds kTimeout{60};  // with a scheduler that does not answer

std::optional<std::filesystem::path> find_in_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::filesystem::path candidate = std::filesystem::path(folder.empty() ? "." : folder) / program;
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return std::nullopt;
}

std::string read_all(int output, std::chrono::steady_clock::time_point deadline) {
  std::string text;
  std::array<char, 4096> bytes;
  while (std::chrono::steady_clock::now() < deadline) {
    pollfd file{output, POLLIN, 0};
    ::poll(&file, 1, 100);
    const ssize_t got = ::read(output, bytes.data(), bytes.size());
    if (got == 0) break;
    if (got > 0) text.append(bytes.data(), static_cast<std::size_t>(got));
    if (got < 0 && errno != EAGAIN && errno != EINTR) break;
  }
  return text;
}

std::string without_end(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

// "RUNNING|None|node[1-2]"
std::optional<JobState> parsed(const std::string& line) {
  std::istringstream fields(line);
  JobState state;
  if (!std::getline(fields, state.state, '|') || state.state.empty()) return std::nullopt;
  std::getline(fields, state.reason, '|');
  std::getline(fields, state.nodes);
  if (state.reason == "None") state.reason.clear();
  return state;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

std::optional<Said> run_command(const std::vector<std::string>& words) {
  const auto program = find_in_path(words.front());
  if (!program) return std::nullopt;
  ChildProcess child({.program = *program, .arguments = words});
  const auto deadline = std::chrono::steady_clock::now() + kTimeout;
  Said said;
  said.text = without_end(read_all(child.output(), deadline));
  const std::optional<ProcessEnd> end = child.wait_for_end(kTimeout);
  if (!end) return Said{1, fmt::format("{} timed out after {} s", words.front(), kTimeout.count())};
  said.exit_code = end->signal != 0 ? 128 + end->signal : end->exit_status;
  return said;
}

std::string submit_to_slurm(const std::filesystem::path& script) {
  const auto said = run_command({"sbatch", "--parsable", script.string()});
  if (!said)
    throw std::invalid_argument(
        fmt::format("sbatch (Slurm) was not found on this machine; submit {} on one that has it", script.string()));
  // "17" or "17;CLUSTER", behind warnings where there are any.
  const std::string last = said->text.substr(said->text.rfind('\n') + 1);
  const std::string job = last.substr(0, last.find(';'));
  if (said->exit_code != 0 || job.empty() || job.find_first_not_of("0123456789") != std::string::npos)
    throw std::invalid_argument(fmt::format("Slurm refuses {}: {}", script.string(), said->text));
  return job;
}

std::optional<JobState> state_of_job(const std::string& job) {
  if (const auto said = run_command({"squeue", "--noheader", "--jobs", job, "--format", "%T|%r|%N"});
      said && said->exit_code == 0)
    if (auto state = parsed(first_line(said->text))) return state;
  if (const auto said = run_command(
          {"sacct", "--noheader", "--parsable2", "--allocations", "--jobs", job, "--format", "State,Reason,NodeList"});
      said && said->exit_code == 0)
    return parsed(first_line(said->text));
  return std::nullopt;
}

// "3|PENDING|Resources|", "0|RUNNING|None|node[1-2]"
std::optional<std::map<std::size_t, JobState>> states_of_tasks(const std::string& job) {
  const auto said = run_command({"squeue", "--noheader", "--array", "--jobs", job, "--format", "%K|%T|%r|%N"});
  if (!said) return std::nullopt;
  std::map<std::size_t, JobState> states;
  // What it has forgotten is over.
  if (said->exit_code != 0)
    return said->text.find("Invalid job id") != std::string::npos ? std::optional(states) : std::nullopt;
  std::istringstream lines(said->text);
  for (std::string line; std::getline(lines, line);) {
    std::size_t task = 0;
    const char* end = line.data() + line.size();
    const auto [bar, error] = std::from_chars(line.data(), end, task);
    if (error != std::errc() || bar == end || *bar != '|') continue;  // a warning
    if (auto state = parsed(std::string(bar + 1, end))) states[task] = std::move(*state);
  }
  return states;
}

}  // namespace underlap::bench
