// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/launch/placement.hpp"
#include "platform/child_process.hpp"
#include "platform/fields/field_values.hpp"

namespace underlap::bench {

using fields::from_message, fields::Is, fields::to_message;

/// Messages between the run, which is the launched process with rank 0, and the other launched processes, its agents.
/// Both sides first prove that they know the run's token (authentication.hpp): the run sends a `challenge`, an agent
/// answers with `hello`, and the run with `welcome`. Then the agent starts and kills rank processes on the run's
/// orders, and reports their output and how they end. Each rank process has its own connection to the run, which its
/// agent opens in the same way.
enum class AgentMessage : std::uint32_t { challenge = 120, hello, welcome, start, kill, end, printed, stopped, ended };

/// `hello` of older versions, which sent the token itself.
inline constexpr std::uint32_t kHelloWithToken = 100;

/// Properties that must be equal in all launched processes: version, commit, configuration, libraries.
using Facts = std::map<std::string, std::string>;

/// Identity of a process that connects.
struct Hello {
  std::int32_t rank = 0;
  std::optional<std::int32_t> child = {};  ///< the rank process whose connection this is; none: the agent's own
  std::int32_t size = 1;                   ///< number of ranks according to the launcher
  std::optional<std::int32_t> local_rank = {};
  RankPlace place = {};
  Facts facts = {};
  std::string complaint = {};  ///< why this process cannot take part; empty: it can
};
void visit_fields(Is<Hello> auto& hello, auto&& field) {
  field("rank", hello.rank);
  field("child", hello.child);
  field("size", hello.size);
  field("local_rank", hello.local_rank);
  field("node", hello.place.node);
  field("address", hello.place.address);
  field("cpus", hello.place.cpus);
  field("numa_nodes", hello.place.numa_nodes);
  field("visible_devices", hello.place.visible_devices);
  field("pid", hello.place.pid);
  field("clock", hello.place.clock);
  field("facts", hello.facts);
  field("complaint", hello.complaint);
}

/// `start`: a rank process, by its number among those of this agent. The agent decides which program it runs.
struct ChildOrder {
  std::int32_t child = 0;
  std::vector<std::string> arguments;
  std::vector<std::pair<std::string, std::string>> environment;
};
void visit_fields(Is<ChildOrder> auto& order, auto&& field) {
  field("child", order.child);
  field("arguments", order.arguments);
  field("environment", order.environment);
}

/// `kill`, `end` (`number`: the run's exit code), `printed` (`text`: bytes), `stopped` (`number`: 1 if it is stopped)
/// and `ended` (`text`: how it ended).
struct ChildNews {
  std::int32_t child = 0;
  std::string text = {};
  std::int64_t number = 0;
};
void visit_fields(Is<ChildNews> auto& news, auto&& field) {
  field("child", news.child);
  field("text", news.text);
  field("number", news.number);
}

/// The file by which agents find the run.
struct LaunchFile {
  std::string job;
  std::string token;  ///< secret that all processes of the run share
  std::string node;
  std::uint16_t port = 0;
  std::vector<std::string> addresses;  ///< empty if the run listens on the loopback only
};
std::string file_text(const LaunchFile& file);
/// nullopt if the text is invalid, of another version, or truncated.
std::optional<LaunchFile> read_launch_file(const std::string& text);

/// Name of a job's launch file in a folder that all its processes can read.
std::string launch_file_name(const std::string& job);

}  // namespace underlap::bench
