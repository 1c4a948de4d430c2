// SPDX-License-Identifier: Apache-2.0
// Runs that are killed at random moments: --resume finishes each, nothing finished is lost, nothing is left behind.
#include <signal.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <thread>

#include "tests/bench/commands/launched_job.hpp"

namespace underlap::bench {
namespace {

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// A run that is endless until somebody ends it. All that it starts has a mark in its environment.
class Victim {
 public:
  explicit Victim(std::uint64_t number)
      : folder(tiny_config(kOffAndOn)), mark_("kill-" + std::to_string(::getpid()) + "-" + std::to_string(number)) {
    fs::create_directory(folder.folder / "tmp");
  }

  Words words(const Words& more) const { return joined(folder.arguments({"--blocks", "100000"}), more); }
  Surroundings surroundings() const {
    return {.environment = {{"UNDERLAP_KILL_MARK", mark_}, {"TMPDIR", folder.folder / "tmp"}}};
  }

  std::vector<pid_t> processes() const {
    std::vector<pid_t> pids;
    for (const auto& entry : fs::directory_iterator("/proc")) {
      const pid_t pid = static_cast<pid_t>(std::atoi(entry.path().filename().c_str()));
      std::ifstream file(entry.path() / "environ", std::ios::binary);
      const std::string text{std::istreambuf_iterator<char>(file), {}};
      if (pid > 0 && text.find("UNDERLAP_KILL_MARK=" + mark_ + '\0') != std::string::npos) pids.push_back(pid);
    }
    return pids;
  }

  std::vector<pid_t> ranks(pid_t parent) const {
    std::vector<pid_t> pids = processes();
    std::erase(pids, parent);
    return pids;
  }

  RunFolder folder;

 private:
  std::string mark_;
};

/// Seeded: what is chosen, and after which time. What a run is at by then is the machine's.
class Chance {
 public:
  explicit Chance(std::uint64_t seed) : random_(seed) {}

  int below(int end) { return static_cast<int>(random_() % static_cast<std::uint64_t>(end)); }
  void wait_up_to_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(below(ms))); }
  int signal() {
    constexpr std::array<int, 4> kSignals{SIGKILL, SIGINT, SIGTERM, SIGHUP};
    return kSignals[static_cast<std::size_t>(below(4))];
  }

 private:
  std::mt19937_64 random_;
};

void expect_nothing_left(const Victim& victim, const Words& mode, const RunProgram& run = underlap_program) {
  for (int i = 0; i < 5000 && !victim.processes().empty(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_THAT(victim.processes(), IsEmpty()) << "orphans";
  expect_resumes(victim.folder, mode, victim.surroundings(), run);
  Words names;
  for (const auto& entry : fs::directory_iterator(victim.folder.run())) names.push_back(entry.path().filename());
  EXPECT_THAT(names, ::testing::UnorderedElementsAre("results.json", "report.md", "traces", "kernels"));
  EXPECT_TRUE(fs::is_empty(victim.folder.folder / "tmp"));
}

void kill_run(Victim& victim, Chance& chance, const Words& mode) {
  Program program(victim.words(mode), victim.surroundings());
  chance.wait_up_to_ms(2500);
  const int signal = chance.signal();
  program.send(signal);
  EXPECT_EQ(program.wait().signal, signal);
}

void on_threads(Victim& victim, Chance& chance) {
  kill_run(victim, chance, {});
  expect_nothing_left(victim, {});
}

const Words kProcesses{"--rank-processes", "true", "--peer-timeout-s", "1"};

void on_rank_processes(Victim& victim, Chance& chance) {
  kill_run(victim, chance, kProcesses);
  expect_nothing_left(victim, kProcesses);
}

void in_virtual_time(Victim& victim, Chance& chance) {
  kill_run(victim, chance, {"--backend", "sim"});
  expect_nothing_left(victim, {"--backend", "sim"});
}

// Of a rank: sent a signal that it ends or stands still by.
void one_rank(Victim& victim, Chance& chance, int signal) {
  Program program(victim.words(kProcesses), victim.surroundings());
  ASSERT_TRUE(program.wait_until([&] { return victim.ranks(program.pid()).size() == 2; }));
  chance.wait_up_to_ms(2000);
  const std::vector<pid_t> ranks = victim.ranks(program.pid());
  const pid_t killed = ranks[static_cast<std::size_t>(chance.below(static_cast<int>(ranks.size())))];
  ::kill(killed, signal);
  // Others take the place of all ranks, unless it came before they had begun to work.
  program.wait_until([&] {
    const std::vector<pid_t> now = victim.ranks(program.pid());
    return now.size() == 2 && std::ranges::find(now, killed) == now.end();
  });
  chance.wait_up_to_ms(1000);
  program.send(SIGINT);
  const Outcome outcome = program.wait();
  EXPECT_TRUE(outcome.signal == SIGINT || outcome.exit_code == 3) << outcome.err;
  expect_nothing_left(victim, kProcesses);
}

void a_rank(Victim& victim, Chance& chance) { one_rank(victim, chance, SIGKILL); }
void a_rank_stopped(Victim& victim, Chance& chance) { one_rank(victim, chance, SIGSTOP); }

// Longer than ranks wait for each other: it may go on, or fail and say so.
void the_parent_stopped(Victim& victim, Chance& chance) {
  const Words mode = chance.below(2) == 0 ? kProcesses : Words{"--peer-timeout-s", "1"};
  Program program(victim.words(mode), victim.surroundings());
  chance.wait_up_to_ms(2000);
  program.send(SIGSTOP);
  chance.wait_up_to_ms(2500);
  program.send(SIGCONT);
  chance.wait_up_to_ms(1000);
  program.send(SIGTERM);
  const Outcome outcome = program.wait();
  EXPECT_TRUE(outcome.signal == SIGTERM || outcome.exit_code == 3) << outcome.err;
  expect_nothing_left(victim, mode);
}

// A file system of its own where that is allowed, else a limit for each file.
void on_a_full_disk(Victim& victim, Chance& chance) {
  const std::string run = victim.folder.run(), options = "size=" + std::to_string(200 + chance.below(400)) + "k";
  fs::create_directory(run);
  const bool is_mounted = ::geteuid() == 0 && ::mount("tmpfs", run.c_str(), "tmpfs", 0, options.c_str()) == 0;
  Surroundings surroundings = victim.surroundings();
  if (!is_mounted) surroundings.file_bytes = 20'000 + chance.below(200'000);
  const Outcome outcome = underlap_program(victim.words({}), surroundings);
  EXPECT_THAT(outcome, fails_with(3, is_mounted ? "No space left on device" : "File too large"));
  if (is_mounted) {
    EXPECT_EQ(::mount("tmpfs", run.c_str(), "tmpfs", MS_REMOUNT, "size=100m"), 0);
  }
  expect_nothing_left(victim, {});
  if (is_mounted) {
    EXPECT_EQ(::umount(run.c_str()), 0);
  }
}

void two_at_once(Victim& victim, Chance& chance) {
  Program first(victim.words({}), victim.surroundings());
  chance.wait_up_to_ms(30);
  Program second(victim.words({}), victim.surroundings());
  Program* loser = nullptr;
  Outcome lost;
  for (Program* program : {&second, &first})
    if (loser == nullptr && program->ends_within(std::chrono::seconds(program == &second ? 3 : 0)))
      loser = program, lost = program->wait();
  ASSERT_NE(loser, nullptr);
  EXPECT_THAT(lost, fails_with(2, "is in use by process "));
  Program& winner = loser == &second ? first : second;
  chance.wait_up_to_ms(1000);
  const int signal = chance.signal();
  winner.send(signal);
  EXPECT_EQ(winner.wait().signal, signal);
  expect_nothing_left(victim, {});
}

// One of the processes that a launcher started, or of their ranks.
void of_a_launcher(Victim& victim, Chance& chance) {
  const Words mode{"--peer-timeout-s", "1", "--launch-timeout-s", "3"};
  Job job(2, victim.words(mode), victim.surroundings());
  chance.wait_up_to_ms(1500);
  const std::vector<pid_t> processes = victim.processes();
  const pid_t killed = processes[static_cast<std::size_t>(chance.below(static_cast<int>(processes.size())))];
  ::kill(killed, SIGKILL);
  // A rank is replaced, and a launched process is not.
  if (!job.process(0).ends_within(std::chrono::seconds(5)))
    for (std::size_t rank = 0; rank < 2; ++rank) job.process(rank).send(SIGTERM);
  const std::vector<Outcome> outcomes = job.wait();
  for (std::size_t rank = 0; rank < 2; ++rank)
    EXPECT_TRUE(outcomes[rank].exit_code == 3 || outcomes[rank].exit_code == 128 + SIGTERM ||
                job.process(rank).pid() == killed)
        << outcomes[rank].err;
  expect_nothing_left(victim, mode, [](const Words& words, const Surroundings& surroundings) {
    return Job(2, words, surroundings).wait()[0];
  });
}

TEST(Kills, LoseNothingThatWasFinishedAndLeaveNothingBehind) {
  constexpr std::array<std::pair<const char*, void (*)(Victim&, Chance&)>, 9> kKinds{
      {{"on threads", on_threads},
       {"rank processes and their parent", on_rank_processes},
       {"in virtual time", in_virtual_time},
       {"a rank", a_rank},
       {"a rank, stopped", a_rank_stopped},
       {"the parent, stopped", the_parent_stopped},
       {"on a full disk", on_a_full_disk},
       {"two at once", two_at_once},
       {"processes of a launcher", of_a_launcher}}};
  const std::uint64_t kills = number_from("UNDERLAP_KILLS", kKinds.size()), seed = number_from("UNDERLAP_KILL_SEED", 1);
  for (std::uint64_t i = 0; i < kills && !HasFatalFailure(); ++i) {
    const auto& [name, kill] = kKinds[i % kKinds.size()];
    SCOPED_TRACE(::testing::Message() << "kill " << i << " of seed " << seed << ": " << name);
    Victim victim(i);
    Chance chance(seed * 1'000'003 + i);
    kill(victim, chance);
  }
}

}  // namespace
}  // namespace underlap::bench
