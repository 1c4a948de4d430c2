// SPDX-License-Identifier: Apache-2.0
#include "bench/ranks/process_session.hpp"

#include <signal.h>

#include <thread>

#include "tests/testing.hpp"

namespace underlap::bench {
namespace {

/// Two cells on two ranks of tests/bench/ranks/rank_program.cpp.
struct Processes {
  explicit Processes(const std::string& deed, const std::string& run = "peer_timeout_s: 20") {
    matrix = plan::parse("model: {preset: tiny}\ndata_parallel_size: 2\nrun: {rank_processes: true, blocks: 6, " + run +
                             "}\nmatrix: {comm_overlap.overlap_grad_reduce: [false, true]}\n",
                         "config.yaml");
    options.ranks.program = UNDERLAP_TEST_RANK_PROGRAM;
    options.ranks.grace = std::chrono::milliseconds(100);
    options.ranks.sink = [this](const std::string& line) { lines.push_back(line); };
    options.environment = [deed](const plan::Plan&) { return Environment{{"UNDERLAP_TEST_RANK", deed}}; };
  }

  ProcessSession& start() { return session.emplace(matrix.cells, 5, SessionOptions{.source = matrix.source}, options); }
  std::string first_cell() const { return matrix.cells.front().name; }

  plan::Matrix matrix;
  ProcessOptions options;
  std::vector<std::string> lines;
  std::optional<ProcessSession> session;
};

bool are_gone(const std::vector<pid_t>& pids) {
  for (const pid_t pid : pids)
    if (std::filesystem::exists("/proc/" + std::to_string(pid))) return false;
  return true;
}

TEST(ProcessSession, JoinsWhatTheRanksDid) {
  Processes processes("-1 none");
  ProcessSession& session = processes.start();
  session.run(0, -1, 2);
  const report::BlockRun run = session.run(0, 0, 3);
  EXPECT_EQ(run.first_step, 7);
  EXPECT_EQ(run.num_steps, 3);
  EXPECT_THAT(run.losses, ElementsAre(ElementsAre(1.0 / 3, 1.0 / 3, 1.0 / 3), ElementsAre(4.0 / 3, 4.0 / 3, 4.0 / 3)));
  EXPECT_EQ(run.transfer_cpu_ns, 20);
  const Trace trace = session.take_trace(0, report::ranks_of(run));
  ASSERT_EQ(trace.marks.size(), 6U);
  EXPECT_EQ(trace.marks[3], (Mark{1, 0, 7, 7000}));
  EXPECT_TRUE(run.figures == figures_of(trace, processes.matrix.cells[0], 0));
  EXPECT_EQ(session.run(1, -1, 1).first_step, 5) << "every cell counts its own steps";
}

TEST(ProcessSession, LeavesNoProcess) {
  Processes processes("-1 none");
  const std::vector<pid_t> pids = processes.start().pids();
  EXPECT_EQ(pids.size(), 2U);
  EXPECT_FALSE(are_gone(pids));
  processes.session.reset();
  EXPECT_TRUE(are_gone(pids));
}

struct Deed {
  const char* name;
  const char* said;
};

class FailingRank : public ::testing::TestWithParam<Deed> {};

TEST_P(FailingRank, EndsAllAndIsNamedWithWhatItWasTold) {
  Processes processes(std::string("1 ") + GetParam().name, "peer_timeout_s: 0.5");
  ProcessSession& session = processes.start();
  const std::vector<pid_t> pids = session.pids();
  session.run(0, -1, 1);
  EXPECT_THAT([&] { session.run(0, 0, 3); },
              ThrowsMessage<MachineError>(AllOf(
                  HasSubstr("rank 1"), HasSubstr(GetParam().said),
                  HasSubstr("its last task was to run 3 steps of cell " + processes.first_cell() + ", block 0"))));
  EXPECT_TRUE(are_gone(pids));
  EXPECT_THAT(processes.lines, ElementsAre());
  EXPECT_THAT([&] { session.run(0, 0, 3); }, ThrowsMessage<MachineError>(HasSubstr("the ranks have ended")));
}

INSTANTIATE_TEST_SUITE_P(ProcessSession, FailingRank,
                         ::testing::Values(Deed{"throw", "rank 1: its disk is full;"},
                                           Deed{"exit", "ended with exit status 7"},
                                           Deed{"segv", "was killed by signal 11"}, Deed{"stop", "is stopped (SIGSTOP"},
                                           Deed{"hang", "did not answer within"},
                                           Deed{"throw_late", "rank 1: its disk is full;"}),
                         CaseName());

TEST(ProcessSession, ARankThatConnectsLongAfterTheOthersIsWaitedFor) {
  Processes processes("1 build_late", "peer_timeout_s: 0.2");
  processes.start().run(0, 0, 1);
}

TEST(ProcessSession, ARankThatConnectsTooLongAfterTheOthersIsSilent) {
  Processes processes("1 build_late", "peer_timeout_s: 0.2");
  processes.options.ranks.connecting_timeout = std::chrono::milliseconds(100);
  EXPECT_THAT([&] { processes.start(); }, ThrowsMessage<MachineError>(HasSubstr("rank 1 did not answer within")));
}

TEST(ProcessSession, ShowsTheLastLinesOfARankWithItsEnd) {
  Processes processes("1 exit");
  ProcessSession& session = processes.start();
  EXPECT_THAT([&] { session.run(0, 0, 1); },
              ThrowsMessage<MachineError>(HasSubstr("\n  first\n  library: cannot go on")));
}

TEST(ProcessSession, BadInputStaysBadInput) {
  Processes processes("1 refuse");
  ProcessSession& session = processes.start();
  EXPECT_THAT([&] { session.run(0, 0, 1); }, ThrowsMessage<std::invalid_argument>("text.txt: no such file"));
}

TEST(ProcessSession, ARankThatIsKilledEndsAll) {
  Processes processes("-1 all_hang");
  ProcessSession& session = processes.start();
  const std::vector<pid_t> pids = session.pids();
  std::thread killer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    ::kill(pids[1], SIGKILL);
  });
  EXPECT_THAT([&] { session.run(0, 0, 1); }, ThrowsMessage<MachineError>(HasSubstr("rank 1 was killed by signal 9")));
  killer.join();
  EXPECT_TRUE(are_gone(pids));
}

TEST(ProcessSession, ForwardsWhatRanksPrintWithTheirNames) {
  Processes processes("1 print");
  processes.start().run(0, 0, 1);
  processes.session.reset();
  EXPECT_THAT(processes.lines, ElementsAre("[rank 1] one", "[rank 1] two"));
}

TEST(ProcessSession, RefusesRanksThatReadAnotherPlan) {
  Processes processes("-1 none");
  processes.matrix.source.overrides.emplace_back("run.seed", "2");
  EXPECT_THAT([&] { processes.start(); },
              ThrowsMessage<MachineError>(HasSubstr("gets different plans from config.yaml")));
}

// Environments differ between the two cells.
struct TwoEnvironments : Processes {
  TwoEnvironments() : Processes("-1 none") {
    options.environment = [](const plan::Plan& plan) {
      return Environment{{"UNDERLAP_TEST_CONNECTIONS", plan.config.ddp.overlap_grad_reduce ? "8" : "1"}};
    };
  }
};

TEST(ProcessSession, CellsThatDifferInLaunchEnvironmentHaveTheirOwnProcesses) {
  TwoEnvironments processes;
  ProcessSession& session = processes.start();
  EXPECT_EQ(session.pids().size(), 4U);
  const auto process = [&](std::size_t cell) {
    session.run(cell, 0, 1);
    return session.take_trace(cell, std::vector<std::int32_t>{0}).clocks.at(0).device_ns;
  };
  EXPECT_NE(process(0), process(1));
}

TEST(ProcessSession, HandsOverTheTracesOfTheRanksThatAreAskedFor) {
  Processes processes("-1 none");
  ProcessSession& session = processes.start();
  session.run(0, 0, 3);
  const Trace trace = session.take_trace(0, std::vector<std::int32_t>{1});
  ASSERT_EQ(trace.marks.size(), 3U);
  EXPECT_EQ(trace.marks[0].rank, 1);
}

// As on GPUs, where a rank knows its own starts alone: rank 1 comes 300 ns after rank 0, which waits for it.
TEST(ProcessSession, SplitsTransfersWhoseLastArrivalNoRankKnows) {
  Processes processes("-1 reduce");
  ProcessSession& session = processes.start();
  const report::BlockRun run = session.run(0, 0, 3);
  ASSERT_EQ(run.figures.splits.size(), 4U) << "two windows of two ranks";
  EXPECT_EQ(run.figures.splits[0].modes.at("dp").exposed_wait_ns, 300);
  EXPECT_EQ(run.figures.splits[0].modes.at("dp").exposed_transfer_ns, 100);
  EXPECT_EQ(run.figures.splits[2].modes.at("dp").exposed_wait_ns, 0);
  EXPECT_EQ(run.figures.splits[2].modes.at("dp").exposed_unsplit_ns, 0);
  const Trace trace = session.take_trace(0, report::ranks_of(run));
  EXPECT_EQ(trace.communication(0)->last_arrival_ns, trace.start_ns()[0] + 300) << "the trace has it too";
}

TEST(ProcessSession, TellsRanksWhichCellsAreTheirOwn) {
  TwoEnvironments parted;
  ProcessSession& session = parted.start();
  EXPECT_THAT(session.run(0, -1, 1).notes, ElementsAre("own cells: 0", "own cells: 0"));
  EXPECT_THAT(session.run(1, -1, 1).notes, ElementsAre("own cells: 1", "own cells: 1"));
  parted.session.reset();
  Processes shared("-1 none");
  EXPECT_THAT(shared.start().run(1, -1, 1).notes, ElementsAre("own cells: 0, 1", "own cells: 0, 1"));
}

/// Four cells in one launch environment: overlapped or not, traced or not.
struct TracedAndNot : Processes {
  TracedAndNot() : Processes("-1 none") {
    matrix = plan::parse(
        "model: {preset: tiny}\ndata_parallel_size: 2\nrun: {rank_processes: true, blocks: 6}\n"
        "matrix: {comm_overlap.overlap_grad_reduce: [false, true], run.trace: [true, false]}\n",
        "config.yaml");
  }
};

TEST(ProcessSession, OnGpusTracedCellsAndOthersShareNoProcess) {
  TracedAndNot processes;
  processes.options.is_profiled = options_of_gpu_ranks().is_profiled;
  ProcessSession& session = processes.start();
  EXPECT_EQ(session.pids().size(), 4U);
  for (const std::size_t cell : {0U, 2U})
    EXPECT_THAT(session.run(cell, -1, 1).notes, ElementsAre("own cells: 0, 2", "own cells: 0, 2"));
  for (const std::size_t cell : {1U, 3U})
    EXPECT_THAT(session.run(cell, -1, 1).notes, ElementsAre("own cells: 1, 3", "own cells: 1, 3"));
  EXPECT_FALSE(session.begin_block(0));
  EXPECT_TRUE(session.begin_block(2)) << "two sets of processes: three rounds of them";
}

// A recorder of the host's serves its own cell alone.
TEST(ProcessSession, OnTheHostTracedCellsAndOthersShareProcesses) {
  TracedAndNot processes;
  EXPECT_EQ(processes.start().pids().size(), 2U);
}

TEST(ProcessSession, StartsThemAnewForThreeRoundsAndCountsStepsOn) {
  TwoEnvironments processes;
  ProcessSession& session = processes.start();
  std::vector<std::int32_t> anew;
  std::vector<std::int32_t> first_steps;
  for (std::int32_t block = 0; block < 6; ++block) {
    const std::vector<pid_t> before = session.pids();
    if (session.begin_block(block)) anew.push_back(block);
    EXPECT_EQ(session.pids() == before, anew.empty() || anew.back() != block);
    for (const std::size_t cell : {0U, 1U}) first_steps.push_back(session.run(cell, block, 2).first_step);
  }
  EXPECT_THAT(anew, ElementsAre(2, 4));
  EXPECT_THAT(first_steps, ElementsAre(5, 5, 7, 7, 9, 9, 11, 11, 13, 13, 15, 15));
}

TEST(ProcessSession, KeepsProcessesThatAllCellsShare) {
  Processes processes("-1 none");
  ProcessSession& session = processes.start();
  for (std::int32_t block = 0; block < 6; ++block) EXPECT_FALSE(session.begin_block(block));
}

}  // namespace
}  // namespace underlap::bench
