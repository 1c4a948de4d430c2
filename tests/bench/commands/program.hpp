// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>

#include "platform/json.hpp"
#include "profiler/report/results.hpp"
#include "tests/profiler/temporary_folder.hpp"
#include "tests/testing.hpp"

namespace underlap::bench {

// Names that most tests of the program use.
namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using Words = std::vector<std::string>;
using testing_support::read_text;
using testing_support::TemporaryFolder;
using testing_support::write_text;

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
  explicit Program(const Words& arguments, const Surroundings& surroundings = {});
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  pid_t pid() const { return pid_; }
  void send(int signal) const;
  Outcome wait();

  /// Waits until `done` holds, at most four minutes. False where the program ended or the time was up before.
  bool wait_until(const std::function<bool()>& done);
  bool ends_within(std::chrono::milliseconds timeout);

 private:
  bool reap(bool block);

  TemporaryFolder captured_;
  pid_t pid_ = -1;
  std::optional<int> status_;
};

/// Starts that program and waits for its end.
Outcome underlap_program(const Words& arguments, const Surroundings& surroundings = {});

/// The same, and expects exit code 0.
Outcome expect_success(const Words& arguments, const Surroundings& surroundings = {});

/// What it prints with --json appended, and expects exit code 0.
Json json_of(const Words& arguments);

Words joined(Words first, const Words& more);

/// Expects lines of at most 80 columns where the terminal has as many, but for the first, which may name files.
void expect_fits_a_terminal(const Words& arguments);

/// A model of one layer, two ranks, two blocks of two steps; `more` is appended.
std::string tiny_config(const std::string& more = "", const std::string& model = "");

/// Two ranks of data parallelism; a cell with their overlap off, and one with it on.
inline constexpr const char* kOffAndOn =
    "data_parallel_size: 2\nmatrix: {comm_overlap.overlap_grad_reduce: [false, true]}\n";

/// The same model in virtual time.
std::string sim_config(const std::string& more = kOffAndOn);

/// The folder that a variable names, with a slash at its end; empty where it is not set.
std::string folder_in(const char* variable);

/// A folder with `config` in it as config.yaml.
struct RunFolder {
  explicit RunFolder(const std::string& config) { write_text(folder / "config.yaml", config); }

  std::string config() const { return folder / "config.yaml"; }
  std::string run() const { return folder / "run"; }
  fs::path results_file() const { return folder / "run/results.json"; }
  report::RunResults results() const { return report::read_results(run()); }
  Words arguments(const Words& more = {}) const;
  std::vector<fs::path> traces() const;

  /// Runs config.yaml into run(), and expects that this succeeds.
  Outcome measure(const Words& more = {}) const { return expect_success(arguments(more)); }
  report::RunResults measured(const Words& more = {}) const;

  TemporaryFolder folder;
};

/// A run that all tests of a suite look at, made once: of Suite::config(), with Suite::options().
template <class Suite>
class OneRun : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<RunFolder>(Suite::config());
    ran_ = folder_->measure(Suite::options());
  }
  static void TearDownTestSuite() { folder_.reset(); }

  static Words options() { return {}; }
  static std::string trace(std::size_t cell = 0) { return folder_->traces().at(cell); }

  static inline std::unique_ptr<RunFolder> folder_;
  static inline Outcome ran_;
};

/// The measured steps of a cell, a text each, with all that a block may not change of an earlier one.
Words texts_of(const report::CellResult& cell);

/// Waits until the run of `program` has finished a block. False where it ended before.
bool wait_for_a_block(Program& program, const RunFolder& folder);

/// Runs `arguments` on what is in `folder` for two more blocks: nothing that was finished may change, and every trace
/// holds every block. Where no block was finished the run begins. `run` starts it and waits for its end.
using RunProgram = std::function<Outcome(const Words&, const Surroundings&)>;
void expect_resumes(const RunFolder& folder, const Words& arguments = {}, const Surroundings& surroundings = {},
                    const RunProgram& run = underlap_program);

/// Matches what any bad input must come to: `exit_code`, a message that holds `words`, nothing that looks like a crash.
::testing::Matcher<const Outcome&> fails_with(int exit_code, const std::string& words);

}  // namespace underlap::bench
