// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/bench/commands/program.hpp"

namespace underlap::bench {

/// As many processes of the program as torchrun would start, with the variables that it sets.
class Job {
 public:
  /// `port` tells jobs apart.
  Job(std::size_t size, const std::vector<std::string>& arguments, const Surroundings& surroundings = {},
      const std::string& port = "29500")
      : Job(std::vector<std::vector<std::string>>(size, arguments), surroundings, port) {}

  /// The arguments of each rank are its own; a rank without any is not started.
  explicit Job(const std::vector<std::vector<std::string>>& arguments, const Surroundings& surroundings = {},
               const std::string& port = "29500") {
    for (std::size_t rank = 0; rank < arguments.size(); ++rank) {
      Surroundings its = surroundings;
      its.environment.insert(its.environment.end(), {{"RANK", std::to_string(rank)},
                                                     {"WORLD_SIZE", std::to_string(arguments.size())},
                                                     {"LOCAL_RANK", std::to_string(rank)},
                                                     {"MASTER_ADDR", "127.0.0.1"},
                                                     {"MASTER_PORT", port}});
      processes_.push_back(arguments[rank].empty() ? nullptr : std::make_unique<Program>(arguments[rank], its));
    }
  }

  Program& process(std::size_t rank) const { return *processes_[rank]; }

  /// How each ended.
  std::vector<Outcome> wait() {
    std::vector<Outcome> outcomes;
    for (const auto& process : processes_) outcomes.push_back(process == nullptr ? Outcome{} : process->wait());
    return outcomes;
  }

 private:
  std::vector<std::unique_ptr<Program>> processes_;
};

}  // namespace underlap::bench
