// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/launch/placement.hpp"
#include "platform/child_process.hpp"

namespace underlap::bench {

/// What goes between the run, which is the launched process with rank 0, and the other launched processes, its agents.
/// An agent says `hello` and is welcomed; then it starts and kills rank processes as it is told, and tells of what they
/// print and how they end. Each rank process has a connection of its own to the run, which begins with a `hello` too.
enum class AgentMessage : std::uint32_t { hello = 100, welcome, start, kill, end, printed, stopped, ended };

/// What must be the same in all launched processes, in words: version, commit, configuration, libraries.
using Facts = std::map<std::string, std::string>;

/// Who connects.
struct Hello {
  std::string token;  ///< of the run, as it stands in the launch file
  std::int32_t rank = 0;
  std::optional<std::int32_t> child = {};  ///< the rank process whose connection this is; none: the agent's own
  std::int32_t size = 1;                   ///< how many ranks the launcher said there are
  std::optional<std::int32_t> local_rank = {};
  RankPlace place = {};
  Facts facts = {};
  std::string complaint = {};  ///< why this process cannot take part; empty: it can
};
/// The token stands first and as it is: what a stranger says is not decoded.
std::string encode(const Hello& hello);
/// `payload` begins with `token`: the caller has compared them.
Hello decode_hello(std::string_view payload, std::string_view token);

/// `start`: a rank process, by its number among those of this agent.
struct ChildOrder {
  std::int32_t child = 0;
  std::string program;
  std::vector<std::string> arguments;
  std::vector<std::pair<std::string, std::string>> environment;
};
std::string encode(const ChildOrder& order);
ChildOrder decode_child_order(std::string_view payload);

/// `kill`, `end` (where `number` is the run's exit code), `printed` (bytes in `text`), `stopped` (`number` 1: it is)
/// and `ended` (how, in words).
struct ChildNews {
  std::int32_t child = 0;
  std::string text = {};
  std::int64_t number = 0;
};
std::string encode(const ChildNews& news);
ChildNews decode_news(std::string_view payload);

/// The file by which agents find the run.
struct LaunchFile {
  std::string job;
  std::string token;
  std::string node;
  std::uint16_t port = 0;
  std::vector<std::string> addresses;
};
std::string file_text(const LaunchFile& file);
/// nullopt where the text is none, or cut short.
std::optional<LaunchFile> read_launch_file(const std::string& text);

/// Where that of a job stands in a folder that all its processes see.
std::string launch_file_name(const std::string& job);

}  // namespace underlap::bench
