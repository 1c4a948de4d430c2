// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "profiler/report/results.hpp"
#include "tests/profiler/temporary_folder.hpp"

namespace underlap::bench {

/// How a program ended, and what it printed.
struct Outcome {
  int exit_code = -1;  ///< -1 where a signal ended it
  int signal = 0;
  std::string out;
  std::string err;
};

/// What surrounds a program.
struct Surroundings {
  std::optional<std::int64_t> file_bytes = {};    ///< no file may grow beyond this: what a full disk is like
  std::optional<std::int64_t> memory_bytes = {};  ///< address space: what a small machine is like
  std::string out_path = {};                      ///< standard output goes here; empty: it is captured
  std::string err_path = {};                      ///< the same of standard error; a terminal it may be
  bool closed_streams = false;                    ///< started without standard output and standard error
  bool closed_pipe = false;                       ///< standard output is a pipe that nobody reads
  std::vector<std::pair<std::string, std::string>> environment = {};  ///< set on top of what the test has
};

/// The program that UNDERLAP_PROGRAM names, started as its own process. Ended by SIGKILL when a test does not wait for
/// it, or waits over four minutes.
class Program {
 public:
  explicit Program(const std::vector<std::string>& arguments, const Surroundings& surroundings = {});
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  pid_t pid() const { return pid_; }
  void send(int signal) const;
  Outcome wait();

  /// Waits until `done` holds, at most four minutes. False where the program ended or the time was up before.
  bool wait_until(const std::function<bool()>& done);
  bool ends_within(std::chrono::milliseconds patience);

 private:
  bool reap(bool block);

  testing_support::TemporaryFolder captured_;
  pid_t pid_ = -1;
  std::optional<int> status_;
};

/// Starts that program and waits for its end.
Outcome underlap_program(const std::vector<std::string>& arguments, const Surroundings& surroundings = {});

/// A model of one layer, two ranks, two blocks of two steps; `more` is appended.
std::string tiny_config(const std::string& more = "", const std::string& model = "");

/// A folder with `config` in it as config.yaml.
struct RunFolder {
  explicit RunFolder(const std::string& config) { testing_support::write_text(folder / "config.yaml", config); }

  std::string config() const { return folder / "config.yaml"; }
  std::string run() const { return folder / "run"; }
  std::vector<std::string> arguments(const std::vector<std::string>& more = {}) const;
  std::vector<std::filesystem::path> traces() const;

  testing_support::TemporaryFolder folder;
};

/// The measured steps of a cell, a text each, with all that a block may not change of an earlier one.
std::vector<std::string> texts_of(const report::CellResult& cell);

/// Runs `arguments` on what is in `folder` for two more blocks: nothing that was finished may change, and every trace
/// holds every block. Where no block was finished the run begins. `run` starts it and waits for its end.
using RunProgram = std::function<Outcome(const std::vector<std::string>&, const Surroundings&)>;
void expect_resumes(const RunFolder& folder, const std::vector<std::string>& arguments = {},
                    const Surroundings& surroundings = {}, const RunProgram& run = underlap_program);

/// Matches what any bad input must come to: `exit_code`, a message that holds `words`, nothing that looks like a crash.
::testing::Matcher<const Outcome&> fails_with(int exit_code, const std::string& words);

}  // namespace underlap::bench
