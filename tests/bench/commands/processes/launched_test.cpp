// SPDX-License-Identifier: Apache-2.0
// Ranks that a launcher started, through the program: as torchrun does, with its variables set by the test, and under
// mpirun where there is one.
#include <signal.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <set>
#include <system_error>

#include "platform/network/tcp.hpp"
#include "profiler/formats/format.hpp"
#include "tests/bench/commands/launched_job.hpp"

namespace underlap::bench {
namespace {

const std::string kFourRanks = tiny_config(kOffAndOn, ", tensor_model_parallel_size: 2");

report::RunResults threads_of(const RunFolder& folder) {
  const std::string into = folder.folder / "threads";
  expect_success({"run", folder.config(), "-o", into});
  return report::read_results(into);
}

// What does not depend on time.
void expect_same_work(const report::RunResults& one, const report::RunResults& other) {
  ASSERT_EQ(one.cells.size(), other.cells.size());
  for (std::size_t c = 0; c < one.cells.size(); ++c) {
    EXPECT_EQ(one.cells[c].warmup_losses, other.cells[c].warmup_losses);
    ASSERT_EQ(one.cells[c].samples.size(), other.cells[c].samples.size());
    for (std::size_t s = 0; s < one.cells[c].samples.size(); ++s) {
      const report::StepSample &a = one.cells[c].samples[s], &b = other.cells[c].samples[s];
      EXPECT_EQ(a.loss, b.loss);
      ASSERT_EQ(a.ranks.size(), b.ranks.size());
      for (std::size_t rank = 0; rank < a.ranks.size(); ++rank) {
        ASSERT_FALSE(a.ranks[rank].purposes.empty());
        ASSERT_EQ(a.ranks[rank].purposes.size(), b.ranks[rank].purposes.size());
        for (const auto& [purpose, split] : a.ranks[rank].purposes) {
          EXPECT_EQ(split.bytes_on_wire, b.ranks[rank].purposes.at(purpose).bytes_on_wire) << purpose;
          EXPECT_EQ(split.count, b.ranks[rank].purposes.at(purpose).count) << purpose;
        }
      }
    }
  }
}

TEST(Launched, FourProcessesDoTheWorkOfFourThreads) {
  const RunFolder folder(kFourRanks);
  const std::vector<Outcome> outcomes = Job(4, folder.arguments()).wait();
  EXPECT_EQ(outcomes[0].exit_code, 0) << outcomes[0].err;
  EXPECT_THAT(outcomes[0].out, HasSubstr("ranks by torchrun: 4 on "));
  for (std::size_t rank = 1; rank < 4; ++rank) {
    EXPECT_EQ(outcomes[rank].exit_code, 0);
    EXPECT_THAT(outcomes[rank].out + outcomes[rank].err, IsEmpty()) << "rank 0 alone prints";
  }
  const report::RunResults results = folder.results();
  EXPECT_EQ(results.info.launcher, "torchrun");
  EXPECT_EQ(results.info.launched_ranks.size(), 4U);
  EXPECT_EQ(results.info.launched_ranks[3].local_rank, 3);
  expect_same_work(results, threads_of(folder));
  EXPECT_FALSE(fs::exists(folder.folder / "run/run.lock"));
  for (const auto& entry : fs::directory_iterator(folder.run()))
    EXPECT_THAT(entry.path().filename().string(), Not(HasSubstr("launch-"))) << "a token was left";
}

// The port that rank 0 wrote into its launch file; 0 before that.
std::uint16_t port_of(const RunFolder& folder) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder.run(), ignored))
    if (entry.path().filename().string().starts_with("launch-") && entry.path().extension() == ".json")
      return parse_json(read_text(entry.path())).at("port").get<std::uint16_t>();
  return 0;
}

// Who connects and says nothing would hold a file descriptor of rank 0 for as long as it waits for its ranks.
TEST(Launched, ASilentConnectionIsClosed) {
  const RunFolder folder(kFourRanks);
  const Job job({folder.arguments({"--launch-timeout-s", "100"}), {}, {}, {}});
  std::uint16_t port = 0;
  ASSERT_TRUE(job.process(0).wait_until([&] { return (port = port_of(folder)) != 0; }));
  std::string why;
  const FileDescriptor silent = connect_tcp("127.0.0.1", port, std::chrono::seconds(5), why);
  ASSERT_TRUE(silent) << why;
  std::size_t received = 0;
  std::array<char, 256> bytes;
  while (const ssize_t count = ::recv(silent.get(), bytes.data(), bytes.size(), 0)) {
    ASSERT_GT(count, 0) << std::strerror(errno);
    received += static_cast<std::size_t>(count);
  }
  EXPECT_GT(received, 0U) << "it is asked who it is";
  EXPECT_FALSE(job.process(0).ends_within(std::chrono::milliseconds(0))) << "rank 0 still waits for its ranks";
}

TEST(Launched, MpirunStartsRanks) {
  if (std::system("command -v mpirun >/dev/null") != 0) GTEST_SKIP() << "no mpirun here (Debian: openmpi-bin)";
  const RunFolder folder(kFourRanks);
  const std::string command =
      "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun -np 4 --oversubscribe " +
      std::string(UNDERLAP_PROGRAM) + " run " + folder.config() + " -o " + folder.run() + " >" +
      (folder.folder / "out").string() + " 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0) << read_text(folder.folder / "out");
  const report::RunResults results = folder.results();
  EXPECT_EQ(results.info.launcher, "Open MPI");
  expect_same_work(results, threads_of(folder));
}

// Every process reads the matrix by itself, and must number its cells alike.
TEST(Launched, RunTheCellsThatCanBeRun) {
  const RunFolder folder(tiny_config(
      "matrix:\n  x: [{name: bad, model.tensor_model_parallel_size: 3}, {name: good, data_parallel_size: 2}]\n"));
  const std::vector<Outcome> outcomes = Job(2, folder.arguments()).wait();
  EXPECT_EQ(outcomes[0].exit_code, 2) << outcomes[0].err;
  EXPECT_THAT(outcomes[0].err, HasSubstr("note: skipping cell bad: "));
  EXPECT_EQ(outcomes[1].exit_code, 2);
  EXPECT_THAT(outcomes[1].err, IsEmpty());
  const report::RunResults results = folder.results();
  ASSERT_EQ(results.cells.size(), 1U);
  EXPECT_EQ(results.cells[0].samples.size(), 4U);
}

TEST(Launched, GoOnBehindResume) {
  const RunFolder folder(kFourRanks);
  EXPECT_EQ(Job(4, folder.arguments()).wait()[0].exit_code, 0);
  const std::vector<Outcome> outcomes = Job(4, folder.arguments({"--resume", "--blocks", "3"})).wait();
  EXPECT_EQ(outcomes[0].exit_code, 0) << outcomes[0].err;
  EXPECT_EQ(folder.results().blocks_done, 3);
  EXPECT_THAT(underlap_program(folder.arguments({"--resume", "--blocks", "4"})),
              fails_with(2, "different number of ranks per node: was 4 by torchrun, is no launcher"));
}

TEST(Launched, ARankThatNeverComesIsNamed) {
  const RunFolder folder(kFourRanks);
  const auto arguments = folder.arguments({"--launch-timeout-s", "1"});
  const std::vector<Outcome> outcomes = Job({arguments, arguments, {}, arguments}).wait();
  EXPECT_THAT(outcomes[0], fails_with(3, "rank 2 of 4 did not connect within 1 s (--launch-timeout-s)"));
  for (const std::size_t rank : {1U, 3U}) EXPECT_THAT(outcomes[rank], fails_with(3, ""));
  EXPECT_FALSE(fs::exists(folder.run()));
}

TEST(Launched, WhoSeesAnotherFolderSaysWhich) {
  const RunFolder folder(tiny_config("data_parallel_size: 2\n"));
  const auto arguments = folder.arguments({"--launch-timeout-s", "1"});
  const std::string other = folder.folder / "other";
  const std::vector<Outcome> outcomes =
      Job({arguments, {"run", folder.config(), "-o", other, "--launch-timeout-s", "1"}}).wait();
  EXPECT_THAT(outcomes[0], fails_with(3, "rank 1 of 2 did not connect within 1 s"));
  EXPECT_THAT(outcomes[1], fails_with(3, "did not find rank 0 within 1 s"));
  EXPECT_THAT(outcomes[1].err, AllOf(HasSubstr(other), HasSubstr("rank 1 of 2 on ")));
}

TEST(Launched, WhoReadsSomethingElseIsNamed) {
  const RunFolder folder(kFourRanks);
  const auto arguments = folder.arguments();
  const std::vector<Outcome> seeds = Job({arguments, joined(arguments, {"--seed", "7"}), arguments, arguments}).wait();
  EXPECT_THAT(seeds[0], fails_with(2, "has run.seed 7, but rank 0 on "));
  EXPECT_THAT(seeds[0].err, AllOf(HasSubstr("rank 1 on "), HasSubstr("configuration plan hash")));
  const std::vector<Outcome> broken =
      Job({arguments, arguments, joined(arguments, {"--steps", "-3"}), arguments}).wait();
  EXPECT_THAT(broken[0], fails_with(2, "rank 2 on "));
  EXPECT_THAT(broken[0].err, HasSubstr("-3"));
  for (const Outcome& outcome : {seeds[3], broken[3]}) EXPECT_THAT(outcome, fails_with(2, ""));
}

TEST(Launched, WhatIsWrongForAllIsSaidOnce) {
  const RunFolder folder(tiny_config("data_parallel_size: 2\ntrain: {data: /no/such/text}\n"));
  const Outcome alone = underlap_program(folder.arguments());
  const std::vector<Outcome> outcomes = Job(2, folder.arguments()).wait();
  EXPECT_EQ(outcomes[0].err, alone.err);
  EXPECT_EQ(outcomes[0].exit_code, 2);
  EXPECT_EQ(outcomes[1].exit_code, 2);
  EXPECT_THAT(outcomes[1].err, IsEmpty());
}

TEST(Launched, MoreRanksThanProcessesAreRefused) {
  const RunFolder folder(kFourRanks);
  EXPECT_THAT(Job(3, folder.arguments()).wait()[0],
              fails_with(2, "has 4 ranks, but torchrun started 3 processes: start 4"));
}

TEST(Launched, MoreProcessesThanRanksAreIdle) {
  const RunFolder folder(tiny_config("data_parallel_size: 2\n"));
  const std::vector<Outcome> outcomes = Job(3, folder.arguments()).wait();
  EXPECT_EQ(outcomes[0].exit_code, 0) << outcomes[0].err;
  EXPECT_THAT(outcomes[0].err, HasSubstr("1 of the 3 processes started by torchrun will be idle"));
  EXPECT_EQ(outcomes[2].exit_code, 0);
}

TEST(Launched, VirtualTimeIsComputedByOne) {
  const RunFolder folder(tiny_config("data_parallel_size: 2\n"));
  const std::vector<Outcome> outcomes = Job(2, folder.arguments({"--backend", "sim"})).wait();
  EXPECT_EQ(outcomes[0].exit_code, 0) << outcomes[0].err;
  EXPECT_THAT(outcomes[0].err, HasSubstr("one process runs the simulation"));
}

TEST(Launched, ASeriesStartsItsOwnProcesses) {
  const RunFolder folder(tiny_config("data_parallel_size: 2\n"));
  EXPECT_THAT(Job(2, folder.arguments({"--runs", "2"})).wait()[0], fails_with(2, "start each run separately"));
}

/// An endless run of four launched processes that has finished a block.
struct LongJob {
  RunFolder folder{kFourRanks};
  Job job{4, folder.arguments({"--blocks", "100000"})};
  bool begun = wait_for_a_block(job.process(0), folder);
};

TEST(Launched, TwoRunsInOneFolderAreRefused) {
  LongJob first;
  ASSERT_TRUE(first.begun);
  const std::vector<Outcome> outcomes = Job(4, first.folder.arguments(), {}, "29501").wait();
  EXPECT_THAT(outcomes[0], fails_with(2, "is in use"));
  for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
  const std::int32_t done = report::read_results(first.folder.run()).blocks_done;
  EXPECT_TRUE(first.job.process(0).wait_until([&] {
    return report::read_results(first.folder.run()).blocks_done > done;
  })) << "the first goes on";
}

TEST(Launched, AProcessThatIsKilledFailsTheRunAndKeepsWhatWasFinished) {
  LongJob run;
  ASSERT_TRUE(run.begun);
  run.job.process(2).send(SIGKILL);
  const std::vector<Outcome> outcomes = run.job.wait();
  EXPECT_THAT(outcomes[0], fails_with(3, "rank 2 on "));
  EXPECT_THAT(outcomes[0].err, AllOf(HasSubstr("is lost"), HasSubstr("blocks are kept")));
  for (const std::size_t rank : {1U, 3U}) EXPECT_EQ(outcomes[rank].exit_code, 3);
  const report::RunResults results = report::read_results(run.folder.run());
  for (const report::CellResult& cell : results.cells)
    EXPECT_EQ(cell.samples.size(), static_cast<std::size_t>(results.blocks_done) * 2) << "no part of a block";
}

// Rank 1 in a time namespace whose steady clock is a day ahead, as another machine's may be.
TEST(Launched, ClocksOfOtherMachinesArePutOnThatOfRankZero) {
  const std::string ahead = "unshare --user --map-root-user --time --monotonic 86400 --fork --kill-child ";
  if (std::system((ahead + "true 2>/dev/null").c_str()) != 0) GTEST_SKIP() << "no time namespaces here";
  const RunFolder folder(tiny_config(kOffAndOn));
  const std::string run =
      std::string(UNDERLAP_PROGRAM) + " run " + folder.config() + " -o " + folder.run() + " --link-gbps 1 ";
  const std::string command = "export WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=29500; RANK=1 LOCAL_RANK=1 " +
                              ahead + run + "& RANK=0 LOCAL_RANK=0 " + run + ">" + (folder.folder / "out").string() +
                              " 2>&1; code=$?; wait; exit $code";
  ASSERT_EQ(std::system(("timeout 60 sh -c '" + command + "'").c_str()), 0) << read_text(folder.folder / "out");
  EXPECT_THAT(read_text(folder.folder / "out"), HasSubstr("; their clocks agree within "));
  const report::RunResults results = folder.results();
  EXPECT_THAT(results.info.clock, HasSubstr("are compared with it"));
  for (const report::CellResult& cell : results.cells) {
    EXPECT_GT(cell.clock_residual_ns, 0);
    EXPECT_LT(cell.clock_residual_ns, 1'000'000'000) << "a day was not taken off";
    for (const report::StepSample& sample : cell.samples) {
      ASSERT_EQ(sample.ranks.size(), 2U);
      for (const analysis::Split& split : sample.ranks) {
        EXPECT_LE(split.exposed_wait_ns, split.window_ns);
        EXPECT_LT(split.window_ns, 60'000'000'000);
      }
    }
  }
  // Of each communication both ranks say the same moment at which its last member came.
  for (const auto& file : folder.traces()) {
    const Trace trace = formats::read_trace(file);
    std::map<std::pair<std::uint32_t, std::uint64_t>, std::set<std::int64_t>> arrivals;
    for (std::size_t i = 0; i < trace.size(); ++i)
      if (const CommunicationRecord* record = trace.communication(i))
        arrivals[{record->group, record->sequence}].insert(record->last_arrival_ns);
    EXPECT_FALSE(arrivals.empty());
    for (const auto& [key, at] : arrivals) EXPECT_EQ(at.size(), 1U);
    EXPECT_LT(trace.last_ns() - trace.first_ns(), 60'000'000'000);
  }
}

// As Slurm does: first SIGTERM to all, a while before it kills.
TEST(Launched, SigtermEndsTheRunBehindTheBlockThatIsGoing) {
  LongJob run;
  ASSERT_TRUE(run.begun);
  auto& [folder, job, begun] = run;
  EXPECT_THAT(expect_success({"status", folder.run()}).out,
              AllOf(HasSubstr(" is running on "), HasSubstr("of 100000, cell ")));
  for (std::size_t rank = 0; rank < 4; ++rank) job.process(rank).send(SIGTERM);
  const std::vector<Outcome> outcomes = job.wait();
  for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.exit_code, 128 + SIGTERM) << outcome.err;
  EXPECT_THAT(outcomes[0].err, AllOf(HasSubstr("stopped by SIGTERM; "), HasSubstr(" of 100000 blocks are kept in ")));
  EXPECT_THAT(underlap_program({"status", folder.run()}).out,
              AllOf(HasSubstr("ended early: stopped by SIGTERM; "), HasSubstr("continue with: ")));
  const auto blocks = std::to_string(folder.results().blocks_done + 1);
  EXPECT_EQ(Job(4, folder.arguments({"--resume", "--blocks", blocks})).wait()[0].exit_code, 0);
  EXPECT_THAT(underlap_program({"status", folder.run()}).out,
              HasSubstr("is finished: " + blocks + " blocks of 2 cells"));
}

TEST(Launched, AllEndWithRankZero) {
  LongJob run;
  ASSERT_TRUE(run.begun);
  run.job.process(0).send(SIGKILL);
  const std::vector<Outcome> outcomes = run.job.wait();
  for (const std::size_t rank : {1U, 2U, 3U})
    EXPECT_THAT(outcomes[rank], fails_with(3, "lost the connection to the run"));
}

}  // namespace
}  // namespace underlap::bench
