// SPDX-License-Identifier: Apache-2.0
#include "bench/commands/series/series.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <stdexcept>

#include "bench/commands/config_input.hpp"
#include "bench/machine/machine_info.hpp"
#include "bench/ranks/session.hpp"
#include "platform/child_process.hpp"
#include "platform/exit_code.hpp"
#include "platform/file_lock.hpp"
#include "platform/signal_watch.hpp"
#include "platform/terminal.hpp"
#include "platform/text/digits.hpp"
#include "platform/text/escape.hpp"
#include "platform/text/output.hpp"
#include "profiler/compare/sides.hpp"
#include "profiler/report/run_folders.hpp"

namespace underlap::bench {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr const char* kVariable = "UNDERLAP_SERIES";  // ID/RUN/SIDE
constexpr auto kStopTimeout = 20s;                    // for a run to end after a signal

/// One run of a series.
struct PlannedRun {
  std::int32_t index = 0;
  std::string side;
  fs::path folder;
  fs::path program;
  std::string config;
};

fs::path side_folder(const fs::path& folder, const std::string& side) { return side.empty() ? folder : folder / side; }

/// Copies a process's output into a file until the process ends; keeps the last lines.
class Output {
 public:
  explicit Output(const fs::path& file) : file_(file, std::ios::binary) {}

  void read(int descriptor) {
    char bytes[4096];
    for (ssize_t count = 0; (count = ::read(descriptor, bytes, sizeof bytes)) > 0;) {
      file_.write(bytes, count).flush();
      tail_.append(bytes, static_cast<std::size_t>(count));
      if (tail_.size() > kMostTail) tail_.erase(0, tail_.size() - kMostTail);
    }
  }

  const std::string& tail() const { return tail_; }

  std::string last_line() const {
    const std::size_t end = tail_.find_last_not_of('\n');
    if (end == std::string::npos) return "";
    const std::size_t begin = tail_.rfind('\n', end);
    return tail_.substr(begin == std::string::npos ? 0 : begin + 1,
                        end - (begin == std::string::npos ? 0 : begin + 1) + 1);
  }

 private:
  static constexpr std::size_t kMostTail = 2000;
  std::ofstream file_;
  std::string tail_;
};

// Waits for the end of `child`, copying its output; calls `look` periodically.
template <class Look>
ProcessEnd wait_for(ChildProcess& child, Output& output, const Look& look) {
  std::optional<ProcessEnd> end;
  while (!end) {
    pollfd readable{child.output(), POLLIN, 0};
    const bool is_closed = ::poll(&readable, 1, 200) > 0 && (readable.revents & POLLIN) == 0;
    if (is_closed) std::this_thread::sleep_for(20ms);
    output.read(child.output());
    look();
    end = child.end();
  }
  output.read(child.output());
  return *end;
}

void require_underlap(const std::string& program) {
  const auto refuse = [&](const std::string& why) {
    throw std::invalid_argument(fmt::format(
        "--interleave {}: {}\n  give a configuration, or the program `underlap` of another build", program, why));
  };
  try {
    ChildProcess child({.program = fs::absolute(program), .arguments = {"underlap", "version"}, .environment = {}});
    Output output("/dev/null");
    const auto deadline = std::chrono::steady_clock::now() + kStopTimeout;
    const ProcessEnd end = wait_for(child, output, [&] {
      if (std::chrono::steady_clock::now() > deadline) child.kill();
    });
    if (end.exit_status != 0 || end.signal != 0 || !output.tail().starts_with("underlap "))
      refuse("is not an underlap program: its `version` " +
             (end.exit_status == 0 && end.signal == 0 ? "prints something else" : end.text()));
  } catch (const MachineError& error) {
    refuse(error.what());
  }
}

class Series {
 public:
  explicit Series(const SeriesRequest& request)
      : request_(request), watch_([this](int signal) { say_last_words(signal); }), status_(request.progress) {
    fs::create_directories(request.folder);
    try {
      lock_.emplace(request.folder / "series.lock");
    } catch (const FileIsHeld& held) {
      throw std::invalid_argument(
          fmt::format("{} is in use by {}; wait until it finishes, or choose another folder (-o DIR)",
                      request.folder.string(), held.what()));
    }
    plan_runs();
    find_id();
  }

  int run() {
    int worst = kOk;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      const int code = run_one(runs_[i], fmt::format("run {} of {}{}", i + 1, runs_.size(),
                                                     runs_[i].side.empty() ? "" : " (" + runs_[i].side + ")"));
      if (code != kOk && code != kFound) return code;
      worst = std::max(worst, code);
      ++finished_;
    }
    return worst;
  }

 private:
  // Alternates the order in pairs, so that drift affects both sides equally.
  void plan_runs() {
    const fs::path self = "/proc/self/exe";
    const auto add = [&](std::int32_t index, const std::string& side) {
      const bool is_other = side == "baseline";
      const bool other_is_program = is_other && is_program(request_.other);
      runs_.push_back({.index = index,
                       .side = side,
                       .folder = report::run_of_series(side_folder(request_.folder, side), index),
                       .program = other_is_program ? fs::absolute(request_.other) : self,
                       .config = is_other && !other_is_program ? request_.other : request_.config});
    };
    for (std::int32_t index = 0; index < request_.runs; ++index) {
      if (request_.other.empty()) {
        add(index, "");
        continue;
      }
      add(index, index % 2 == 0 ? "baseline" : "candidate");
      add(index, index % 2 == 0 ? "candidate" : "baseline");
    }
  }

  // All runs of a series share the id, also after a resume.
  void find_id() {
    for (const PlannedRun& run : runs_) {
      if (!report::find_results(run.folder)) continue;
      id_ = report::read_results(run.folder).info.series;
      if (!id_.empty()) return;
    }
    id_ = fmt::format("{}-{}", machine_info().started_utc, ::getpid());
  }

  std::vector<std::string> words_of(const PlannedRun& run) const {
    std::vector<std::string> words{"underlap", "run", run.config, "-o", run.folder.string()};
    words.insert(words.end(), request_.options.begin(), request_.options.end());
    if (request_.resume) words.emplace_back("--resume");
    return words;
  }

  int run_one(const PlannedRun& run, const std::string& name) {
    const auto began = std::chrono::steady_clock::now();
    fs::create_directories(run.folder.parent_path());
    fs::path log = run.folder;
    log += ".txt";
    status_.say(name);
    Output output(log);
    ChildProcess child({.program = run.program,
                        .arguments = words_of(run),
                        .environment = {{kVariable, fmt::format("{}/{}/{}", id_, run.index, run.side)}}});
    child_ = child.pid();
    const ProcessEnd end = wait_for(child, output, [&] {
      if (const std::string line = output.last_line(); !line.empty()) status_.say(name + ": " + line);
    });
    child_ = -1;
    while (is_stopped_) std::this_thread::sleep_for(1s);  // the thread that saw the signal ends the process
    if (end.signal != 0 || (end.exit_status != kOk && end.exit_status != kFound)) return failed(end, name, output, log);
    adopt(run);
    status_.print(fmt::format("{}: {}", name, duration_text(std::chrono::steady_clock::now() - began)));
    return end.exit_status;
  }

  int failed(const ProcessEnd& end, const std::string& name, const Output& output, const fs::path& log) {
    status_.print(output.tail());
    status_.print(fmt::format("underlap: {} {}; its output is in {}\n  {} runs are kept; continue with: {}", name,
                              end.text(), log.string(), finished_.load(), request_.resume_command));
    const bool is_known = end.signal == 0 && end.exit_status <= kInconclusive;
    return is_known ? end.exit_status : kRunFailed;
  }

  // A run does not know the number of runs, which --resume may change. A program from before series does not record the
  // series of its run.
  void adopt(const PlannedRun& run) const {
    report::RunResults results = report::read_results(run.folder);
    if (!results.info.series.empty() && results.info.series_runs == request_.runs) return;
    results.info.series_runs = request_.runs;
    if (results.info.series.empty()) results.info.series = id_;
    results.info.series_run = run.index;
    results.info.series_side = run.side;
    report::write_results(run.folder, results);
  }

  // Runs on the thread that ends the process.
  void say_last_words(int signal) {
    is_stopped_ = true;
    const pid_t child = child_;
    if (child > 0) ::kill(child, signal);
    for (const auto until = std::chrono::steady_clock::now() + kStopTimeout;
         child_ > 0 && std::chrono::steady_clock::now() < until;)
      std::this_thread::sleep_for(10ms);
    write_last_words(fmt::format(
        "{}underlap: stopped by {}; {} of {} runs are complete, and finished blocks of the next are kept; continue "
        "with: {}\n",
        request_.progress.terminal ? "\r\033[K" : "", signal_name(signal), finished_.load(), runs_.size(),
        visible_text(request_.resume_command)));
  }

  const SeriesRequest& request_;
  std::vector<PlannedRun> runs_;
  std::string id_;
  std::atomic<std::int32_t> finished_{0};
  std::atomic<pid_t> child_{-1};
  std::atomic<bool> is_stopped_{false};
  SignalWatch watch_;  // before any other thread
  StatusLine status_;
  std::optional<FileLock> lock_;
};

void check_folder(const SeriesRequest& request) {
  const auto refuse = [&](const char* what) {
    throw std::invalid_argument(fmt::format("{} {}: choose another folder with -o DIR", request.folder.string(), what));
  };
  if (report::find_results(request.folder)) refuse("contains a single run");
  const bool has_sides = fs::exists(request.folder / "baseline") || fs::exists(request.folder / "candidate");
  if (request.other.empty() && has_sides) refuse("contains interleaved runs, which --interleave continues");
  if (!request.other.empty() && !report::run_folders(request.folder).empty())
    refuse("contains runs that are not interleaved");
  if (request.resume) return;
  for (const char* side : {"", "baseline", "candidate"})
    if (const auto runs = report::run_folders(request.folder / side); !runs.empty())
      throw std::invalid_argument(fmt::format(
          "{} already contains a run: continue its series with --resume, or choose another folder with -o DIR",
          runs.front().string()));
}

// Figures that a run of the matrix would report, with a placeholder step.
compare::RunFigures figures_of(const plan::Matrix& matrix, const std::string& config) {
  report::RunResults results;
  results.info.backend = matrix.cells.front().plan.config.run.backend;
  std::set<std::string> links;
  for (const plan::Cell& cell : matrix.cells) {
    report::CellResult& result = results.cells.emplace_back();
    result.name = cell.name;
    result.plan_json = plan::to_json(cell.plan);
    result.no_comm = cell.plan.config.run.no_comm;
    result.num_ranks = cell.plan.config.parallel.world_size();
    result.samples.emplace_back().step_ns = 1;
    links.insert(link_text(cell.plan.config.run));
  }
  results.info.link = fmt::format("{}", fmt::join(links, "; "));
  return compare::figures_of(results, config);
}

}  // namespace

void check_turns(const plan::Matrix& baseline, const std::string& baseline_config, const plan::Matrix& candidate,
                 const std::string& candidate_config) {
  const compare::RunFigures before = figures_of(baseline, baseline_config),
                            now = figures_of(candidate, candidate_config);
  const auto names_of = [](const compare::RunFigures& run) {
    std::set<std::string> names;
    for (const compare::CellFigures& cell : run.cells) names.insert(cell.name);
    return names;
  };
  const auto refuse = [&](const std::string& why) {
    throw std::invalid_argument(
        fmt::format("--interleave {}: a gate could not compare the runs: {}\n  use a configuration with the same "
                    "cells, work, backend and link that differs only in knobs",
                    baseline_config, why));
  };
  if (names_of(before) != names_of(now))
    refuse(fmt::format("its cells are {}, but those of {} are {}", fmt::join(names_of(before), ", "), candidate_config,
                       fmt::join(names_of(now), ", ")));
  if (const std::string why = compare::not_comparable({before}, {now}); !why.empty()) refuse(why);
}

bool is_program(const std::string& path) {
  const fs::path extension = fs::path(path).extension();
  // Some file systems mark every file as executable.
  if (extension == ".yaml" || extension == ".yml") return false;
  return fs::is_regular_file(path) && ::access(path.c_str(), X_OK) == 0;
}

int run_series(const SeriesRequest& request) {
  check_folder(request);
  int code = kOk;
  {
    if (is_program(request.other)) require_underlap(request.other);
    Series series(request);
    code = series.run();
  }
  if (code != kOk && code != kFound) return code;
  print_text(series_text(request.folder, terminal_format(STDOUT_FILENO)));
  return code;
}

void read_series(report::RunInfo& info) {
  const char* value = std::getenv(kVariable);
  if (value == nullptr) return;
  const std::string_view text = value;
  const std::size_t side = text.rfind('/');
  const std::size_t run = side == std::string_view::npos || side == 0 ? side : text.rfind('/', side - 1);
  const auto refuse = [&] {
    throw std::invalid_argument(fmt::format("{} is \"{}\": only `underlap run --runs` may set it", kVariable, text));
  };
  if (run == std::string_view::npos || run == 0) refuse();
  const auto number = parse_number<std::int32_t>(text.substr(run + 1, side - run - 1));
  if (!number) refuse();
  info.series_run = *number;
  info.series = text.substr(0, run);
  info.series_side = text.substr(side + 1);
}

}  // namespace underlap::bench
