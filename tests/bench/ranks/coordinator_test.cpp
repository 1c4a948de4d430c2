// SPDX-License-Identifier: Apache-2.0
#include "bench/launch/coordinator.hpp"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "bench/launch/agent.hpp"
#include "bench/launch/authentication.hpp"
#include "bench/ranks/process_session.hpp"
#include "platform/errors.hpp"
#include "tests/profiler/temporary_folder.hpp"
#include "tests/testing.hpp"

namespace underlap::bench {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPatience{20'000};

/// Launched processes of one job, which are children of the test; rank 0 is the test itself.
class LaunchedProcesses : public ::testing::Test {
 protected:
  ~LaunchedProcesses() override {
    for (const pid_t agent : agents_) ::kill(agent, SIGKILL), ::waitpid(agent, nullptr, 0);
  }

  Launch launch(std::int32_t rank) const {
    return {.launcher = "torchrun", .rank = rank, .size = size_, .job = "a job"};
  }

  // The exit code 99 stands for an exception.
  void start_agent(std::int32_t rank, const Facts& facts = {{"commit", "abc"}}) {
    const AgentOptions options{.launch = launch(rank),
                               .folder = where_,
                               .timeout = kPatience,
                               .facts = facts,
                               .program = UNDERLAP_TEST_RANK_PROGRAM};
    const pid_t agent = ::fork();
    if (agent > 0) return agents_.push_back(agent);
    int exit_code = 99;
    try {
      exit_code = serve_agent(options);
    } catch (const std::exception&) {
      // Whoever asks for the exit code sees it.
    }
    ::_exit(exit_code);
  }

  int exit_code_of(std::size_t agent) {
    int status = 0;
    ::waitpid(agents_[agent], &status, 0);
    agents_.erase(agents_.begin() + std::ptrdiff_t(agent));
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  Coordinator& coordinator() {
    if (!coordinator_) coordinator_.emplace(launch(0), where_, patience_);
    return *coordinator_;
  }
  void gather() {
    coordinator().gather({{"commit", "abc"}}, [](const std::string&) {});
  }

  LaunchFile launch_file() {
    coordinator();
    return *read_launch_file(testing_support::read_text(file_of()));
  }

  MessageChannel connected() {
    std::string why;
    return {connect_tcp("127.0.0.1", launch_file().port, kPatience, why), "the run"};
  }

  std::filesystem::path file_of(const std::string& job = "a job") const { return where_ / launch_file_name(job); }

  // Leaves a launch file where agents look for one.
  void leave(const std::string& text) {
    std::filesystem::create_directories(where_);
    testing_support::write_text(file_of(), text);
    std::filesystem::permissions(file_of(), std::filesystem::perms(0600));
  }

  // Expects rank 1 to give up with these words.
  void expect_agent_gives_up(const ::testing::Matcher<const std::string&>& words, milliseconds timeout) {
    const AgentOptions options{.launch = launch(1), .folder = where_, .timeout = timeout};
    EXPECT_THAT([&] { serve_agent(options); }, ThrowsMessage<MachineError>(words));
  }

  // Answers the run's challenge as a process that knows `token`; returns the answer.
  static std::string say(MessageChannel& channel, const std::string& token, const Hello& hello) {
    const Handshake handshake{.run_nonce = channel.receive(Deadline(now() + kPatience)).payload,
                              .peer_nonce = random_nonce()};
    std::string answer = peer_answer(token, handshake, to_message(hello));
    channel.send(static_cast<std::uint32_t>(AgentMessage::hello), answer);
    return answer;
  }

  static Deadline now() { return std::chrono::steady_clock::now(); }

  std::int32_t size_ = 2;
  milliseconds patience_ = kPatience;
  testing_support::TemporaryFolder folder_;
  std::filesystem::path where_ = folder_ / "run";
  std::vector<pid_t> agents_;
  std::optional<Coordinator> coordinator_;
};

TEST_F(LaunchedProcesses, FindRankZeroAndEndWithItsExitCode) {
  size_ = 3;
  start_agent(2);
  start_agent(1);
  gather();
  EXPECT_EQ(coordinator().placement().ranks.size(), 3U);
  EXPECT_FALSE(std::filesystem::exists(file_of())) << "nobody else is to come";
  coordinator().end(4);
  coordinator_.reset();
  EXPECT_EQ(exit_code_of(1), 4);
  EXPECT_EQ(exit_code_of(0), 4);
}

TEST_F(LaunchedProcesses, AreToldOfAnEndBeforeAllHaveCome) {
  start_agent(1);
  coordinator().end(2);
  coordinator_.reset();
  EXPECT_EQ(exit_code_of(0), 2);
}

TEST_F(LaunchedProcesses, AreNamedWhereTheyDoNotCome) {
  size_ = 4;
  patience_ = milliseconds(300);
  start_agent(2);
  EXPECT_THAT([&] { gather(); }, ThrowsMessage<MachineError>(AllOf(HasSubstr("rank 1, 3 of 4 did not connect within"),
                                                                   HasSubstr(where_.string()))));
}

TEST_F(LaunchedProcesses, WhoDiffersIsNamedWithBothValues) {
  start_agent(1, {{"commit", "def"}});
  EXPECT_THAT([&] { gather(); },
              ThrowsMessage<std::invalid_argument>(
                  AllOf(HasSubstr("rank 1 on "), HasSubstr("has commit def, but rank 0 on "), HasSubstr("has abc"))));
}

TEST_F(LaunchedProcesses, TwoOfOneRankAreNamed) {
  size_ = 3;
  start_agent(1);
  start_agent(1);
  EXPECT_THAT([&] { gather(); }, ThrowsMessage<std::invalid_argument>(AllOf(HasSubstr("two processes have rank 1 of 3"),
                                                                            HasSubstr(std::to_string(agents_[0])),
                                                                            HasSubstr(std::to_string(agents_[1])))));
}

TEST_F(LaunchedProcesses, OfDifferentSizesAreNamed) {
  start_agent(1);
  size_ = 3;
  start_agent(2);
  EXPECT_THAT([&] { gather(); }, ThrowsMessage<std::invalid_argument>(
                                     HasSubstr("is one of 2 according to its variables, but rank 0 is one of 3")));
}

TEST_F(LaunchedProcesses, WithANegativeRankAreNamed) {
  const LaunchFile file = launch_file();
  MessageChannel channel = connected();
  std::jthread rank([&] { say(channel, file.token, {.rank = -5, .size = 2}); });
  EXPECT_THAT([&] { gather(); }, ThrowsMessage<std::invalid_argument>(
                                     HasSubstr("is rank -5 of 2 according to its variables, but rank 0 is one of 2")));
  rank.join();
}

TEST_F(LaunchedProcesses, NobodyElseReadsTheToken) {
  coordinator();
  const auto permissions = std::filesystem::status(file_of()).permissions();
  EXPECT_EQ(permissions, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

TEST_F(LaunchedProcesses, WhatAKilledRunLeftIsRemoved) {
  std::filesystem::create_directories(where_);
  for (const std::string& name : {launch_file_name("of old"), launch_file_name("of old") + ".lock"})
    std::ofstream(where_ / name) << "left";
  coordinator();
  const Coordinator other({.launcher = "Slurm", .size = 2, .job = "another job"}, where_, kPatience);
  EXPECT_FALSE(std::filesystem::exists(file_of("of old")));
  EXPECT_TRUE(std::filesystem::exists(file_of())) << "it is held";
}

TEST_F(LaunchedProcesses, TwoRunsGatherNoProcessesOfOneJob) {
  coordinator();
  EXPECT_THAT([&] { Coordinator(launch(0), where_, kPatience); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("two runs cannot share a job and a folder")));
}

// Anybody who reaches the port may say anything.
TEST_F(LaunchedProcesses, StrangersAreNotListenedTo) {
  const LaunchFile file = launch_file();
  std::string why;
  const FileDescriptor silent = connect_tcp("127.0.0.1", file.port, kPatience, why);
  const FileDescriptor rude = connect_tcp("127.0.0.1", file.port, kPatience, why);
  ASSERT_GT(::write(rude.get(), "GET / HTTP/1.0\r\n\r\n", 18), 0);
  MessageChannel garbled = connected(), deep = connected(), guessed = connected(), old = connected();
  garbled.send(static_cast<std::uint32_t>(AgentMessage::hello), "no record");
  deep.send(static_cast<std::uint32_t>(AgentMessage::hello), std::string(1 << 19, '\x81'));  // lists in lists in lists
  old.send(kHelloWithToken, "guessed");
  std::jthread stranger([&] { say(guessed, "guessed", {.rank = 1, .size = 2}); });
  start_agent(1);
  gather();
  stranger.join();
  EXPECT_THAT([&] { guessed.receive(now() + kPatience); }, ::testing::Throws<ChannelClosed>());
}

TEST_F(LaunchedProcesses, WhatWasRecordedIsOfNoUseAgain) {
  size_ = 3;
  const LaunchFile file = launch_file();
  MessageChannel first = connected(), second = connected();
  std::string answer;
  std::jthread rank([&] {
    answer = say(first, file.token, {.rank = 1, .size = 3, .facts = {{"commit", "abc"}}});
    EXPECT_EQ(first.receive(now() + kPatience).kind, static_cast<std::uint32_t>(AgentMessage::welcome));
    const std::string challenge = second.receive(now() + kPatience).payload;
    second.send(static_cast<std::uint32_t>(AgentMessage::hello), answer);
    EXPECT_THAT([&] { second.receive(now() + kPatience); }, ::testing::Throws<ChannelClosed>());
    start_agent(2);
  });
  gather();
  rank.join();
}

TEST_F(LaunchedProcesses, OfAnOlderVersionAreNamed) {
  const LaunchFile file = launch_file();
  MessageChannel channel = connected();
  channel.send(kHelloWithToken, file.token + "\xa0");
  EXPECT_THAT([&] { gather(); }, ThrowsMessage<std::invalid_argument>(HasSubstr("of an older version of Underlap")));
}

TEST_F(LaunchedProcesses, ServeNobodyWhoDoesNotKnowTheToken) {
  TcpListener listener(TcpReach::this_machine);
  leave(file_text({.job = "a job", .token = "a", .node = node_name(), .port = listener.port(), .addresses = {}}));
  std::jthread stranger([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      FileDescriptor connection = listener.accept();
      if (!connection) {
        std::this_thread::sleep_for(milliseconds(5));
        continue;
      }
      MessageChannel channel(std::move(connection), "an agent");
      Handshake handshake{.run_nonce = random_nonce()};
      channel.send(static_cast<std::uint32_t>(AgentMessage::challenge), handshake.run_nonce);
      const Message answer = channel.receive(now() + kPatience);
      EXPECT_EQ(answer.payload.find("a job"), std::string::npos);
      checked_message("b", handshake, answer.payload);
      channel.send(static_cast<std::uint32_t>(AgentMessage::welcome), run_proof("b", handshake));
    }
  });
  expect_agent_gives_up(HasSubstr("did not prove that it is the run"), milliseconds(300));
}

TEST_F(LaunchedProcesses, OnOneNodeAreReachedByTheLoopbackOnly) {
  Launch here = launch(0);
  here.is_on_one_node = true;
  coordinator_.emplace(here, where_, patience_);
  const LaunchFile file = launch_file();
  EXPECT_TRUE(file.addresses.empty());
  std::string why;
  for (const std::string& address : interface_addresses())
    EXPECT_FALSE(connect_tcp(address, file.port, milliseconds(500), why)) << address;
  start_agent(1);
  gather();
}

TEST_F(LaunchedProcesses, IgnoreALaunchFileOfAnotherVersion) {
  std::string text = file_text(launch_file());
  coordinator_.reset();
  leave(text.replace(text.find("launch/2"), 8, "launch/1"));
  expect_agent_gives_up(HasSubstr("is not a launch file of this version of Underlap"), milliseconds(100));
}

TEST_F(LaunchedProcesses, GiveUpWhereRankZeroLeavesNoWord) {
  expect_agent_gives_up(AllOf(HasSubstr("rank 1 of 2 on " + node_name()), HasSubstr("did not find rank 0 within 0.1 s"),
                              HasSubstr(where_.string())),
                        milliseconds(100));
}

// Another user who can write to the folder must not control the ranks.
TEST_F(LaunchedProcesses, IgnoreALaunchFileOfAnotherUser) {
  const std::filesystem::path file = file_of(), elsewhere = folder_ / "elsewhere";
  const auto ignores = [&](const std::string& which) {
    expect_agent_gives_up(HasSubstr("ignored " + file.string() + ": it " + which), milliseconds(100));
    std::filesystem::remove(file);
  };
  const std::string text = file_text(launch_file());
  coordinator_.reset();
  std::filesystem::create_directories(where_);
  testing_support::write_text(elsewhere, text);
  std::filesystem::create_symlink(elsewhere, file);
  ignores("is a symbolic link");
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  ignores("is not a regular file");
  leave(text);
  std::filesystem::permissions(file, std::filesystem::perms(0620));
  ignores("can be written by other users");
  if (::geteuid() != 0) return;  // only root can give a file away
  testing_support::write_text(file, text);
  ASSERT_EQ(::chown(file.c_str(), 65534, 65534), 0);
  ignores("belongs to another user (65534)");
}

// A run that was killed leaves its file.
TEST_F(LaunchedProcesses, LookOnWhereTheWordIsOld) {
  leave(file_text({.job = "a job", .token = "old", .node = node_name(), .port = 1, .addresses = {}}));
  start_agent(1);
  std::this_thread::sleep_for(milliseconds(200));
  gather();
}

/// Ranks of tests/bench/ranks/rank_program.cpp, which agents start.
class LaunchedRanks : public LaunchedProcesses {
 protected:
  ProcessSession& start(const std::string& deed, const std::string& run = "peer_timeout_s: 20") {
    matrix_ = plan::parse("model: {preset: tiny}\ndata_parallel_size: 2\nrun: {blocks: 6, " + run +
                              "}\nmatrix: {comm_overlap.overlap_grad_reduce: [false, true]}\n",
                          "config.yaml");
    start_agent(1);
    gather();
    options_.ranks.program = UNDERLAP_TEST_RANK_PROGRAM;
    options_.ranks.grace = milliseconds(100);
    if (!options_.environment)
      options_.environment = [deed](const plan::Plan&) { return Environment{{"UNDERLAP_TEST_RANK", deed}}; };
    return session_.emplace(matrix_.cells, 5,
                            SessionOptions{.source = matrix_.source,
                                           .starter = &coordinator(),
                                           .placement = &coordinator().placement(),
                                           .log_folder = where_ / "logs"},
                            options_);
  }

  // The rank process that an agent started.
  pid_t rank_of(pid_t agent) const {
    std::ifstream children("/proc/" + std::to_string(agent) + "/task/" + std::to_string(agent) + "/children");
    pid_t child = 0;
    children >> child;
    return child;
  }

  plan::Matrix matrix_;
  ProcessOptions options_;
  std::optional<ProcessSession> session_;
};

// One that nobody has waited for is gone too.
bool is_gone(pid_t pid) {
  for (int i = 0; i < 5000; ++i) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string number, name, state;
    if (!(file >> number >> name >> state) || state == "Z") return true;
    std::this_thread::sleep_for(milliseconds(1));
  }
  return false;
}

TEST_F(LaunchedRanks, DoAsChildrenOfTheRunDo) {
  ProcessSession& session = start("-1 none");
  session.run(0, -1, 2);
  const report::BlockRun run = session.run(0, 0, 3);
  EXPECT_EQ(run.first_step, 7);
  EXPECT_THAT(run.losses, ElementsAre(ElementsAre(1.0 / 3, 1.0 / 3, 1.0 / 3), ElementsAre(4.0 / 3, 4.0 / 3, 4.0 / 3)));
  const pid_t rank = rank_of(agents_[0]);
  ASSERT_GT(rank, 0);
  session_.reset();
  EXPECT_TRUE(is_gone(rank)) << "a set of ranks ends with its session, and the agent stays";
  EXPECT_EQ(rank_of(agents_[0]), 0);
}

TEST_F(LaunchedRanks, OfTwoEnvironmentsAreStartedAnewForThreeRounds) {
  options_.environment = [](const plan::Plan& plan) {
    return Environment{{"UNDERLAP_TEST_CONNECTIONS", plan.config.ddp.overlap_grad_reduce ? "8" : "1"}};
  };
  ProcessSession& session = start("");
  std::vector<std::int32_t> anew;
  for (std::int32_t block = 0; block < 6; ++block) {
    const auto rank_1 = [&](std::size_t cell) {
      session.run(cell, block, 2);
      return session.take_trace(cell, std::vector<std::int32_t>{1}).clocks.at(0).device_ns;
    };
    const std::int64_t before = block > 0 ? rank_1(0) : 0;  // its process number
    if (session.begin_block(block)) anew.push_back(block);
    if (block > 0) {
      EXPECT_EQ(rank_1(0) != before, !anew.empty() && anew.back() == block);
    }
    EXPECT_NE(rank_1(0), rank_1(1));
  }
  EXPECT_THAT(anew, ElementsAre(2, 4));
}

struct Deed {
  const char* name;
  const char* deed;
  const char* said;
};

class FailingLaunchedRank : public LaunchedRanks, public ::testing::WithParamInterface<Deed> {};

TEST_P(FailingLaunchedRank, EndsAllAndIsNamedWithItsNode) {
  ProcessSession& session = start(std::string("1 ") + GetParam().deed, "peer_timeout_s: 0.5");
  const pid_t rank = rank_of(agents_[0]);
  EXPECT_THAT([&] { session.run(0, 0, 3); },
              ThrowsMessage<MachineError>(AllOf(HasSubstr("rank 1 on " + node_name()), HasSubstr(GetParam().said),
                                                HasSubstr("its last task was to run 3 steps"))));
  EXPECT_TRUE(is_gone(rank));
}

INSTANTIATE_TEST_SUITE_P(LaunchedRanks, FailingLaunchedRank,
                         ::testing::Values(Deed{"throw", "throw", "its disk is full"},
                                           Deed{"exit", "exit", "ended with exit status 7"},
                                           Deed{"last_lines", "exit", "\n  first\n  library: cannot go on"},
                                           Deed{"segv", "segv", "was killed by signal 11"},
                                           Deed{"stop", "stop", "is stopped (SIGSTOP"},
                                           Deed{"hang", "hang", "did not answer within"},
                                           Deed{"throw_late", "throw_late", "its disk is full"}),
                         CaseName());

TEST_F(LaunchedRanks, WhoseAgentIsKilledEndAll) {
  ProcessSession& session = start("-1 all_hang");
  const pid_t agent = agents_[0];
  const pid_t rank = rank_of(agent);
  std::thread killer([&] {
    std::this_thread::sleep_for(milliseconds(50));
    ::kill(agent, SIGKILL);
  });
  EXPECT_THAT([&] { session.run(0, 0, 1); },
              ThrowsMessage<MachineError>(AllOf(HasSubstr("rank 1 on " + node_name() + " is lost"),
                                                HasSubstr("the launched process " + std::to_string(agent)))));
  killer.join();
  EXPECT_TRUE(is_gone(rank));
}

TEST_F(LaunchedRanks, PrintIntoAFileEach) {
  start("1 print").run(0, 0, 1);
  session_.reset();
  EXPECT_EQ(testing_support::read_text(where_ / "logs/rank-1.txt"), "one\ntwo\n");
  EXPECT_FALSE(std::filesystem::exists(where_ / "logs/rank-0.txt"));
}

}  // namespace
}  // namespace underlap::bench
