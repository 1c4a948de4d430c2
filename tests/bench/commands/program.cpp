// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/commands/program.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>
#include <thread>

namespace underlap::bench {
namespace {

// For a program that hangs: what a sanitizer slows down twentyfold on a busy machine is well below it.
constexpr std::chrono::seconds kPatience{240};

void redirect(int fd, const std::string& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file < 0 || ::dup2(file, fd) < 0) ::_exit(127);
}

void close_reader_of_output() {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0 || ::dup2(ends[1], STDOUT_FILENO) < 0) ::_exit(127);
  ::close(ends[0]);
}

// Between fork and exec.
void surround(const Surroundings& surroundings, const std::string& out, const std::string& err) {
  for (const auto& [name, value] : surroundings.environment) ::setenv(name.c_str(), value.c_str(), 1);
  for (const int signal : {SIGINT, SIGTERM, SIGPIPE, SIGXFSZ}) ::signal(signal, SIG_DFL);
  redirect(STDERR_FILENO, err);
  surroundings.closed_pipe ? close_reader_of_output() : redirect(STDOUT_FILENO, out);
  if (surroundings.closed_streams) ::close(STDOUT_FILENO), ::close(STDERR_FILENO);
  for (const auto& [resource, bytes] :
       {std::pair(RLIMIT_FSIZE, surroundings.file_bytes), std::pair(RLIMIT_AS, surroundings.memory_bytes)}) {
    if (!bytes) continue;
    const rlimit limit{static_cast<rlim_t>(*bytes), static_cast<rlim_t>(*bytes)};
    if (::setrlimit(resource, &limit) != 0) ::_exit(127);
  }
}

constexpr const char* kTinyModel =  // tests make configurations of it before main()
    "model: {num_layers: 1, hidden_size: 32, ffn_hidden_size: 64, num_attention_heads: 2, num_query_groups: 2, "
    "vocab_size: 256, seq_length: 16";

std::string text_of(const report::StepSample& sample) {
  std::string text = std::to_string(sample.block) + " " + std::to_string(sample.step) + " " +
                     std::to_string(sample.step_ns) + " " + std::to_string(sample.loss.value_or(0));
  for (const analysis::Split& rank : sample.ranks)
    text += " " + std::to_string(rank.window_ns) + " " + std::to_string(rank.hidden_ns) + " " +
            std::to_string(rank.exposed_ns());
  return text;
}

std::int64_t num_windows(const fs::path& trace) {
  const Json json = json_of({"analyze", trace});
  return json["ranks"][0]["steps"]["count"].get<std::int64_t>() +
         static_cast<std::int64_t>(json["steps"]["stalled"].size());
}

}  // namespace

Program::Program(const Words& arguments, const Surroundings& surroundings) {
  Words words{UNDERLAP_PROGRAM};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const std::string out = surroundings.out_path.empty() ? (captured_ / "out").string() : surroundings.out_path;
  const std::string err = surroundings.err_path.empty() ? (captured_ / "err").string() : surroundings.err_path;
  pid_ = ::fork();
  if (pid_ < 0) throw std::runtime_error("fork failed");
  if (pid_ > 0) return;
  surround(surroundings, out, err);
  ::execv(UNDERLAP_PROGRAM, pointers.data());
  ::_exit(127);
}

Program::~Program() {
  if (reap(false)) return;
  send(SIGKILL);
  reap(true);
}

void Program::send(int signal) const { ::kill(pid_, signal); }

bool Program::reap(bool block) {
  int status = 0;
  if (!status_ && ::waitpid(pid_, &status, block ? 0 : WNOHANG) == pid_) status_ = status;
  return status_.has_value();
}

bool Program::wait_until(const std::function<bool()>& done) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!done()) {
    if (reap(false) || std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

bool Program::ends_within(std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (!reap(false) && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  return status_.has_value();
}

Outcome Program::wait() {
  wait_until([] { return false; });
  if (!status_) send(SIGKILL);
  reap(true);
  Outcome outcome;
  if (WIFEXITED(*status_)) outcome.exit_code = WEXITSTATUS(*status_);
  if (WIFSIGNALED(*status_)) outcome.signal = WTERMSIG(*status_);
  outcome.out = read_text(captured_ / "out");
  outcome.err = read_text(captured_ / "err");
  return outcome;
}

Outcome underlap_program(const Words& arguments, const Surroundings& surroundings) {
  return Program(arguments, surroundings).wait();
}

Outcome expect_success(const Words& arguments, const Surroundings& surroundings) {
  Outcome outcome = underlap_program(arguments, surroundings);
  EXPECT_EQ(outcome.exit_code, 0) << ::testing::PrintToString(arguments) << outcome.err;
  return outcome;
}

Json json_of(const Words& arguments) { return parse_json(expect_success(joined(arguments, {"--json"})).out); }

Words joined(Words first, const Words& more) {
  first.insert(first.end(), more.begin(), more.end());
  return first;
}

void expect_fits_a_terminal(const Words& arguments) {
  std::istringstream lines(expect_success(arguments, {.environment = {{"COLUMNS", "80"}}}).out);
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) EXPECT_LE(line.size(), 80U) << line;
}

std::string tiny_config(const std::string& more, const std::string& model) {
  return kTinyModel + model + "}\nrun: {steps: 2, blocks: 2, warmup: 1}\n" + more;
}

std::string sim_config(const std::string& more) { return std::string(kTinyModel) + "}\nrun: {backend: sim}\n" + more; }

std::string folder_in(const char* variable) {
  const char* folder = std::getenv(variable);
  return folder == nullptr ? "" : std::string(folder) + "/";
}

Words RunFolder::arguments(const Words& more) const { return joined({"run", config(), "-o", run()}, more); }

report::RunResults RunFolder::measured(const Words& more) const {
  measure(more);
  return results();
}

std::vector<fs::path> RunFolder::traces() const {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(folder / "run/traces")) paths.push_back(entry.path());
  std::ranges::sort(paths);
  return paths;
}

Words texts_of(const report::CellResult& cell) {
  Words texts;
  for (const report::StepSample& sample : cell.samples) texts.push_back(text_of(sample));
  return texts;
}

bool wait_for_a_block(Program& program, const RunFolder& folder) {
  return program.wait_until([&] { return fs::exists(folder.results_file()); });
}

void expect_resumes(const RunFolder& folder, const Words& arguments, const Surroundings& surroundings,
                    const RunProgram& run) {
  report::RunResults before;
  if (fs::exists(folder.results_file())) before = folder.results();
  const std::int32_t blocks = before.blocks_done + 2;
  const Words words = joined(folder.arguments({"--resume", "--blocks", std::to_string(blocks)}), arguments);
  const Outcome outcome = run(words, surroundings);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const report::RunResults after = folder.results();
  EXPECT_EQ(after.blocks_done, blocks);
  for (std::size_t c = 0; c < after.cells.size(); ++c) {
    Words kept = texts_of(after.cells[c]);
    ASSERT_EQ(kept.size(), static_cast<std::size_t>(blocks) * 2);
    if (before.blocks_done == 0) before.cells.emplace_back();
    kept.resize(before.cells[c].samples.size());
    EXPECT_EQ(kept, texts_of(before.cells[c]));
    EXPECT_EQ(num_windows(folder.folder / "run" / after.cells[c].trace_file), blocks * 2);
  }
}

::testing::Matcher<const Outcome&> fails_with(int exit_code, const std::string& words) {
  using ::testing::Field;
  const auto no_crash = AllOf(Not(HasSubstr("terminate called")), Not(HasSubstr("basic_")), Not(HasSubstr("std::")));
  return AllOf(Field("exit_code", &Outcome::exit_code, exit_code), Field("signal", &Outcome::signal, 0),
               Field("err", &Outcome::err, AllOf(HasSubstr(words), no_crash)));
}

}  // namespace underlap::bench
