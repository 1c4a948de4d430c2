// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace underlap::bench {

/// A time to be simulated, with a name that identifies it.
struct SimulatedStep {
  std::string name;
  std::function<std::int64_t()> nanoseconds;  ///< called on any thread, several at once
};

/// The simulated duration, or why there is none.
struct StepTime {
  std::int64_t ns = 0;
  std::string failure;  ///< why there is no time; empty: there is one
  friend bool operator==(const StepTime&, const StepTime&) = default;
};

/// Runs steps on all cores, and keeps their results: a repeated name returns at once. With a folder, later processes
/// reuse the results too. Each result is appended to the folder's plays.jsonl when it is done, so a killed process
/// loses only the unfinished steps.
class SimulatedSteps {
 public:
  using Progress = std::function<void(std::size_t done, std::size_t count)>;

  /// `fingerprint` identifies the job, this program and the modelled machine; `threads` 0: one per core. Without a
  /// folder, results are not stored. Throws std::invalid_argument if the folder holds steps and `resume` is false, or
  /// if it holds steps with another fingerprint; MachineError if it cannot be written.
  SimulatedSteps(const std::filesystem::path& folder, bool resume, const std::string& fingerprint,
                 unsigned threads = 0);

  /// The times, in the order of `steps`.
  std::vector<StepTime> simulate(const std::vector<SimulatedStep>& steps, const Progress& progress = {});

  std::size_t num_simulated() const { return known_.size(); }
  std::size_t num_taken_up() const { return num_taken_up_; }

 private:
  void take_up(const std::filesystem::path& file, const std::string& fingerprint);
  void keep(const std::string& name, const StepTime& simulated);

  std::map<std::string, StepTime> known_;
  std::size_t num_taken_up_ = 0;
  std::ofstream file_;
  unsigned threads_;
};

}  // namespace underlap::bench
