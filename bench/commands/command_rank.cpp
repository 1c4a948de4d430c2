// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <stdexcept>

#include "bench/commands/commands.hpp"
#include "bench/ranks/rank_service.hpp"
#include "platform/child_process.hpp"

namespace underlap::bench {
namespace {

int run_rank() {
  struct stat channel {};
  if (::fstat(ChildProcess::kChannel, &channel) != 0 || !S_ISSOCK(channel.st_mode))
    throw std::invalid_argument("underlap rank is internal: `underlap run` starts it for ranks that are processes");
  return serve_rank(MessageChannel(FileDescriptor(ChildProcess::kChannel), "the run"), make_rank_runner);
}

}  // namespace

void add_rank_command(CLI::App& app, int& exit_code) {
  auto number = std::make_shared<int>(0);
  CLI::App* command = app.add_subcommand("rank", "One rank of a run");
  command->group("");  // not for people
  command->add_option("--number", *number, "rank number, for process listings only");
  command->callback([number, &exit_code] { exit_code = run_rank(); });
}

}  // namespace underlap::bench
