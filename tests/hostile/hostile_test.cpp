// SPDX-License-Identifier: Apache-2.0
// Whoever gives the program nonsense gets a sentence that says what and where it is and how to mend it: no crash, no
// hang, no silence. The tables of hostile inputs are in tests/data/hostile, those of others in tests/data/commands.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <regex>
#include <set>
#include <sstream>
#include <thread>

#include "platform/temporary_folder.hpp"
#include "tests/hostile/case_table.hpp"
#include "tests/hostile/run_case.hpp"

namespace underlap::hostile {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFewestCases = 541;
constexpr double kShareThatHelps = 0.98;  // of the messages of bad input
constexpr std::size_t kMostLines = 24;    // of a message: every mistake of a file is told, and each once

std::vector<fs::path> tables(const std::string& kind) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(UNDERLAP_SOURCE_DIR "/tests/data/" + kind))
    paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    if (!line.empty()) lines.push_back(line);
  return lines;
}

// A file with line and column, a flag, a field of a configuration, a file, or the word itself in quotes.
bool names_place(const std::string& message) {
  static const std::regex kPlace(
      R"(^underlap: [^:]*: |\.ya?ml:\d+:\d+|(^|[\s(`,])--?[a-z][a-z-]*|\b[a-z_]+\.[a-z_]+|/|"[^"]*"|[\w-]+\.(yaml|json|pftrace|zst|txt|sqlite|gz))");
  return std::regex_search(message, kPlace);
}

// The limits or the values that it may have, what else to write, or what to do.
bool names_fix(const std::string& message) {
  static const std::regex kFix(
      R"(\bmust\b|did you mean|\b(use|give|name|write|make|set|leave|remove|take|add|ask|run|choose|start|measure|look|fix|check|pass|export|decompress|[Rr]ead|continue|free|raise|install|close) |\bone of\b|\bknown\b|at least|at most|\bneeds?\b|\bfewer\b|\bwithout\b|\binstead\b|--help|\bdivides?\b|\bonly\b|\bexpected\b|\brequired\b|\bnot in range\b|\bcontinues?\b|\banother\b|such as|\bkeep\b|\bfix\b|\bnames\b|\blists\b|`underlap |counted from|\boutside\b|\bMeasure into\b)");
  return std::regex_search(message, kFix);
}

/// What is wrong with how a case ended; nothing where all is as it must be.
std::string verdict(const Case& tried, const Ended& ended) {
  if (!ended.in_time) return "hung";
  if (ended.signal != 0 || ended.exit_code > 125) return fmt::format("was ended by a signal ({})", ended.signal);
  if (!tried.section->exit_codes.contains(ended.exit_code)) return fmt::format("exited with {}", ended.exit_code);
  const std::string all = "\n" + ended.err + ended.out;
  if (ended.exit_code != 0 && lines_of(all).empty() && tried.says.empty()) return "said nothing";
  if (ended.exit_code == 0 && tried.says.empty()) return "was taken without a word";
  for (const std::string& words : tried.says) {
    const bool is_forbidden = words.starts_with('!');
    if ((all.find(words.substr(is_forbidden ? 1 : 0)) == std::string::npos) != is_forbidden)
      return fmt::format("{} \"{}\"", is_forbidden ? "said" : "did not say", words);
  }
  for (const char* noise :
       {"terminate called", "std::", "basic_", "what():", "libgomp", "Sanitizer", "Assertion", "[json."})
    if (ended.err.find(noise) != std::string::npos) return fmt::format("speaks of \"{}\"", noise);
  std::vector<std::string> lines = lines_of(ended.err);
  if (lines.size() > kMostLines) return fmt::format("wrote {} lines", lines.size());
  std::sort(lines.begin(), lines.end());
  if (std::adjacent_find(lines.begin(), lines.end()) != lines.end()) return "said one thing twice";
  return {};
}

/// The folder that each case of a section finds itself in, as its own copy.
class Folders {
 public:
  // Some cases are tried as another user.
  Folders() { fs::permissions(root_.path(), fs::perms::all); }

  fs::path folder_for(const Case& tried) {
    const fs::path folder = root_.path() / fmt::format("case-{}", next_++);
    fs::create_directory(folder);
    if (!tried.section->once.empty())  // cp, and not fs::copy, which copies no pipes
      run_in(folder, fmt::format("cp -a '{}/.' .", prepared(*tried.section).string()));
    if (!tried.section->config.empty()) std::ofstream(folder / "config.yaml") << tried.config();
    fs::permissions(folder, fs::perms::all);
    return folder;
  }

 private:
  const fs::path& prepared(const Section& section) {
    const std::lock_guard lock(mutex_);
    const auto [entry, is_new] =
        prepared_.try_emplace(&section, root_.path() / fmt::format("once-{}", prepared_.size()));
    if (is_new) {
      fs::create_directory(entry->second);
      const Ended ended = run_in(entry->second, section.once);
      if (ended.exit_code != 0) ADD_FAILURE() << section.name << ": " << ended.err;
    }
    return entry->second;
  }

  TemporaryFolder root_;
  std::atomic<int> next_{0};
  std::mutex mutex_;
  std::map<const Section*, fs::path> prepared_;
};

/// Tries all cases of a table, a few at once, and tells what was wrong.
class Trial {
 public:
  explicit Trial(std::vector<Case> cases) : cases_(std::move(cases)) {}

  void run() {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < std::clamp(std::thread::hardware_concurrency(), 2U, 8U); ++i)
      threads.emplace_back([this] {
        for (std::size_t next = next_++; next < cases_.size(); next = next_++) try_one(cases_[next]);
      });
  }

  const std::vector<std::string>& wrong() const { return wrong_; }
  const std::vector<std::string>& unhelpful() const { return unhelpful_; }
  std::size_t num_bad_inputs() const { return num_bad_inputs_; }

 private:
  void try_one(const Case& tried) {
    const Ended ended = run_in(folders_.folder_for(tried), tried.command());
    const std::string why = verdict(tried, ended);
    const std::string shown = fmt::format("{} ({}): {}\n{}{}", tried.where, tried.section->name, tried.text,
                                          ended.out.substr(0, 300), ended.err.substr(0, 800));
    const std::lock_guard lock(mutex_);
    if (!why.empty()) wrong_.push_back(fmt::format("{}\n--- {}", shown, why));
    if (ended.exit_code != 2) return;
    ++num_bad_inputs_;
    const std::string message = ended.err + ended.out;  // with --json errors are the answer
    if (!names_place(message) || !names_fix(message)) unhelpful_.push_back(shown);
  }

  std::vector<Case> cases_;
  Folders folders_;
  std::atomic<std::size_t> next_{0};
  std::mutex mutex_;
  std::vector<std::string> wrong_;
  std::vector<std::string> unhelpful_;
  std::size_t num_bad_inputs_ = 0;
};

class Tables : public testing::TestWithParam<fs::path> {
 public:
  static void SetUpTestSuite() {
    const std::string path = UNDERLAP_PROGRAM_FOLDER ":" + std::string(std::getenv("PATH"));
    ::setenv("PATH", path.c_str(), 1);
    ::setenv("UNDERLAP_SOURCE", UNDERLAP_SOURCE_DIR, 1);
    ::setenv("LC_ALL", "C", 1);
  }
};
std::string name_of(const testing::TestParamInfo<fs::path>& table) { return table.param.stem().string(); }

class HostileInputs : public Tables {};
INSTANTIATE_TEST_SUITE_P(Tables, HostileInputs, testing::ValuesIn(tables("hostile")), name_of);

TEST_P(HostileInputs, AreRefusedInWordsThatHelp) {
  Trial trial(read_table(GetParam()));
  trial.run();
  EXPECT_EQ(trial.wrong().size(), 0U) << fmt::format("{}", fmt::join(trial.wrong(), "\n\n"));
  const double helpful =
      1 - double(trial.unhelpful().size()) / double(std::max<std::size_t>(1, trial.num_bad_inputs()));
  RecordProperty("bad_inputs", static_cast<int>(trial.num_bad_inputs()));
  RecordProperty("unhelpful", static_cast<int>(trial.unhelpful().size()));
  EXPECT_GE(helpful, kShareThatHelps) << fmt::format("{} of {} name no place or no fix:\n{}", trial.unhelpful().size(),
                                                     trial.num_bad_inputs(), fmt::join(trial.unhelpful(), "\n\n"));
}

class Commands : public Tables {};
INSTANTIATE_TEST_SUITE_P(Tables, Commands, testing::ValuesIn(tables("commands")), name_of);

TEST_P(Commands, AnswerAsTheTableSays) {
  Trial trial(read_table(GetParam()));
  trial.run();
  EXPECT_EQ(trial.wrong().size(), 0U) << fmt::format("{}", fmt::join(trial.wrong(), "\n\n"));
}

TEST(HostileTables, HoldAsManyCasesAsWereTriedByHandEachOnce) {
  std::set<std::string> seen;
  std::size_t count = 0;
  for (const fs::path& table : tables("hostile"))
    for (const Case& tried : read_table(table)) {
      ++count;
      EXPECT_TRUE(seen.insert(tried.section->once + tried.config() + tried.command()).second)
          << tried.where << " stands twice";
    }
  EXPECT_GE(count, kFewestCases);
  RecordProperty("cases", static_cast<int>(count));
}

TEST(HelpfulMessage, NamesPlaceAndMend) {
  EXPECT_TRUE(names_place("config.yaml:2:5: unknown key") && names_place("--steps: wrong") &&
              names_place("no file a.json"));
  EXPECT_FALSE(names_place("something is wrong here"));
  EXPECT_TRUE(names_fix("it must be from 1 to 8") && names_fix("did you mean steps?"));
  EXPECT_FALSE(names_fix("config.yaml:2:5: this is wrong"));
}

Case case_of(const std::string& exit_codes, std::vector<std::string> says = {}) {
  auto section = std::make_shared<Section>();
  section->exit_codes.clear();
  for (const char code : exit_codes) section->exit_codes.insert(code - '0');
  return {.section = section, .text = {}, .says = std::move(says), .where = {}};
}

TEST(Verdict, SeesEachKindOfFailure) {
  const Ended good{.in_time = true, .signal = 0, .exit_code = 2, .out = {}, .err = "underlap: --steps must be more\n"};
  EXPECT_EQ(verdict(case_of("2"), good), "");
  const auto with = [&](auto change) {
    Ended ended = good;
    change(ended);
    return ended;
  };
  EXPECT_EQ(verdict(case_of("2"), with([](Ended& e) { e.in_time = false; })), "hung");
  EXPECT_NE(verdict(case_of("2"), with([](Ended& e) { e.signal = 11; })), "");
  EXPECT_NE(verdict(case_of("2"), with([](Ended& e) { e.exit_code = 139; })), "");
  EXPECT_EQ(verdict(case_of("3"), good), "exited with 2");
  EXPECT_EQ(verdict(case_of("2"), with([](Ended& e) { e.err.clear(); })), "said nothing");
  EXPECT_EQ(verdict(case_of("0"), with([](Ended& e) { e.exit_code = 0; })), "was taken without a word");
  EXPECT_EQ(verdict(case_of("2", {"blocks"}), good), "did not say \"blocks\"");
  EXPECT_EQ(verdict(case_of("2", {"!steps"}), good), "said \"!steps\"");
  EXPECT_EQ(verdict(case_of("2", {"\nunderlap: --steps", "!blocks"}), good), "");
  EXPECT_EQ(verdict(case_of("2"), with([](Ended& e) { e.err += "std::bad_alloc\n"; })), "speaks of \"std::\"");
  EXPECT_EQ(verdict(case_of("2"), with([](Ended& e) { e.err += e.err; })), "said one thing twice");
}

}  // namespace
}  // namespace underlap::hostile
