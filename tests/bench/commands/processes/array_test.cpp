// SPDX-License-Identifier: Apache-2.0
// `underlap submit --array`, with a Slurm whose commands are scripts: tasks run when the test says so.
#include <fmt/format.h>
#include <sys/stat.h>

#include <cstdlib>

#include "bench/measure/conclusions.hpp"
#include "bench/measure/run_folder.hpp"
#include "tests/bench/commands/program.hpp"

namespace underlap::bench {
namespace {

const std::string kMatrix =
    "data_parallel_size: 2\n"
    "matrix: [{comm_overlap.overlap_grad_reduce: [false, true]}, {run.no_comm: [true]}]\n";

// An srun that drops its own options and runs the rest.
const std::string kRun = "while [ \"${1#--}\" != \"$1\" ]; do shift; done\nexec \"$@\"";

/// A matrix of three cells, and a Slurm that takes jobs and runs none: its queue is a file.
class SubmittedArray : public ::testing::Test {
 protected:
  SubmittedArray() : folder(tiny_config(kMatrix)) {
    fs::create_directories(slurm());
    script("sbatch", "[ \"$1\" = --version ] || { cat \"$2\" >" + (slurm() / "submitted").string() + "; echo 17; }");
    script("squeue", "cat " + queue().string());
    script("srun", kRun);
    say("");
  }

  fs::path slurm() const { return folder.folder / "slurm"; }
  fs::path queue() const { return slurm() / "queue"; }
  void say(const std::string& queued) const { write_text(queue(), queued); }
  void script(const std::string& name, const std::string& body) const {
    write_text(slurm() / name, "#!/bin/bash\n" + body + "\n");
    ::chmod((slurm() / name).c_str(), 0755);
  }
  Surroundings around() const { return {.environment = {{"PATH", slurm().string() + ":" + std::getenv("PATH")}}}; }
  Outcome program(const Words& words) const { return Program(words, around()).wait(); }
  Outcome submit(const Words& more = {}) const {
    return program(joined({"submit", folder.config(), "-o", folder.run(), "--nodes", "1"}, more));
  }
  Outcome submit_array(const Words& more = {}) const { return submit(joined(more, {"--array"})); }
  Outcome status() const { return program({"status", folder.run()}); }
  int run_task(int number) const {
    const std::string command = fmt::format("PATH={0}:$PATH SLURM_ARRAY_TASK_ID={1} bash {2}/job.sh >{0}/out 2>&1",
                                            slurm().string(), number, folder.run());
    return WEXITSTATUS(std::system(command.c_str()));
  }

  RunFolder folder;
};

TEST_F(SubmittedArray, LastTaskMakesOneRunOfAll) {
  ASSERT_THAT(submit_array().out, HasSubstr("submitted job 17, an array of 3 tasks"));
  say("1|PENDING|Resources|\n2|PENDING|Resources|\n");
  ASSERT_EQ(run_task(0), 0) << read_text(slurm() / "out");
  EXPECT_FALSE(fs::exists(fs::path(folder.run()) / "results.json"));
  EXPECT_THAT(read_text(slurm() / "out"), HasSubstr("2 of 3 cells have not ended"));
  EXPECT_THAT(status().out, HasSubstr("1 finished, 2 waiting"));
  say("2|RUNNING||node1\n");
  ASSERT_EQ(run_task(1), 0);
  ASSERT_EQ(run_task(2), 0) << read_text(slurm() / "out");
  say("");
  EXPECT_THAT(status().out, HasSubstr("3 finished"));

  const report::RunResults results = folder.results();
  ASSERT_EQ(results.cells.size(), 3U);
  EXPECT_EQ(results.cells[1].label, report::NumericsLabel::bit_identical);
  for (const report::CellResult& cell : results.cells) {
    EXPECT_TRUE(cell.own_allocation.has_value());
    EXPECT_TRUE(cell.bound_ns.has_value()) << cell.bound_source;
    EXPECT_TRUE(cell.invalid_because.empty());
    EXPECT_EQ(fs::file_size(fs::path(folder.run()) / cell.trace_file), static_cast<std::uintmax_t>(cell.trace_bytes));
  }
  EXPECT_TRUE(results.cells[1].compute_since_off.has_value());
  EXPECT_THAT(read_text(fs::path(folder.run()) / "report.md"), HasSubstr("NOT INTERLEAVED: 3 cells"));
  EXPECT_THAT(program({"show", folder.run()}).out, HasSubstr("NOT INTERLEAVED"));
}

TEST_F(SubmittedArray, ResumeSubmitsTheTasksThatLackBlocks) {
  ASSERT_EQ(submit_array().exit_code, 0);
  script("srun", "[ $SLURM_ARRAY_TASK_ID != 1 ] || exit 2\n" + kRun);
  for (const int task : {0, 2}) ASSERT_EQ(run_task(task), 0) << read_text(slurm() / "out");
  EXPECT_EQ(run_task(1), 2);
  const report::RunResults results = folder.results();
  EXPECT_THAT(results.cells[1].failed_because, HasSubstr("its task ended with exit status 2"));
  EXPECT_THAT(results.cells[0].failed_because, "");
  EXPECT_FALSE(results.cells[0].samples.empty());
  EXPECT_THAT(status().out, HasSubstr("2 finished, 1 ended"));

  EXPECT_THAT(submit({"--resume"}), fails_with(2, "was submitted as a job array: continue it with --array --resume"));
  ASSERT_THAT(submit_array({"--resume"}).out, HasSubstr("an array of 1 tasks"));
  EXPECT_THAT(read_text(slurm() / "submitted"), HasSubstr("#SBATCH --array=1\n"));
  say("1|PENDING|Resources|\n");
  EXPECT_THAT(status().out, HasSubstr("2 finished, 1 waiting"));
  say("");
  script("srun", kRun);
  ASSERT_EQ(run_task(1), 0) << read_text(slurm() / "out");
  EXPECT_EQ(folder.results().cells[1].failed_because, "");
  EXPECT_THAT(submit_array({"--resume"}), fails_with(2, "already has all blocks of all cells"));
  EXPECT_THAT(submit_array({"--resume", "--blocks", "9"}).out, HasSubstr("an array of 3 tasks"));
}

// From a block on the first cell has fresh weights, and the second has not.
TEST_F(SubmittedArray, LossesAreComparedAsFarAsWeightsHaveOneHistory) {
  ASSERT_EQ(submit_array({"--blocks", "1"}).exit_code, 0);
  ASSERT_EQ(run_task(0), 0);
  ASSERT_EQ(submit_array({"--blocks", "2", "--resume"}).exit_code, 0);
  for (const int task : {0, 1, 2}) ASSERT_EQ(run_task(task), 0) << read_text(slurm() / "out");
  const report::RunResults results = folder.results();
  EXPECT_EQ(results.resumed_at_blocks, std::vector<std::int32_t>{1});
  EXPECT_EQ(results.cells[0].samples.size(), results.cells[1].samples.size());
  EXPECT_NE(results.cells[0].samples.back().loss, results.cells[1].samples.back().loss);
  EXPECT_EQ(results.cells[1].label, report::NumericsLabel::bit_identical);
}

TEST_F(SubmittedArray, RefusesWhatIsNoArray) {
  EXPECT_THAT(program({"merge", folder.run()}), fails_with(2, "contains no job array"));
  ASSERT_EQ(submit({}).exit_code, 0);
  EXPECT_THAT(submit_array({"--resume"}), fails_with(2, "not a job array: continue it without --array"));
  fs::remove_all(folder.run());
  write_text(folder.config(), tiny_config("data_parallel_size: 2\n"));
  EXPECT_THAT(submit_array(), fails_with(2, "--array runs each cell as a task"));
  EXPECT_FALSE(fs::exists(folder.run()));
}

TEST_F(SubmittedArray, IsNoRunOfOneAllocation) {
  ASSERT_EQ(submit_array().exit_code, 0);
  EXPECT_THAT(program(folder.arguments({"--resume"})), fails_with(2, "was submitted as a job array"));
  say("0|RUNNING||node1\n");
  EXPECT_THAT(submit_array({"--resume"}), fails_with(2, "has a run that is running as job 17"));
  EXPECT_THAT(program({"merge", folder.run()}), fails_with(2, "1 of 3 cells have not ended"));
}

TEST_F(SubmittedArray, DryRunPrintsTheScriptAndLeavesNothing) {
  const Outcome outcome = submit_array({"--dry-run"});
  EXPECT_THAT(outcome.out, HasSubstr("#SBATCH --array=0,1,2\n"));
  EXPECT_FALSE(fs::exists(folder.run()));
}

// What is concluded at the end of a run, from its kernels/ alone.
TEST_F(SubmittedArray, CellsOfOneAllocationAreConcludedOnAlike) {
  ASSERT_EQ(program(folder.arguments({})).exit_code, 0);
  const report::RunResults measured = folder.results();
  report::RunResults again = measured;
  for (report::CellResult& cell : again.cells) {
    cell.bound_ns.reset(), cell.bound_ideal_ns.reset(), cell.compute_since_off.reset();
    cell.bound_kernel_ns.clear(), cell.kernel_ns.clear();
    cell.kernel_windows = 0;
  }
  EXPECT_NE(results_text(again), results_text(measured));
  const plan::Matrix matrix = plan::load(folder.config());
  draw_conclusions(matrix.cells, again, KernelFiles(folder.run(), kernel_file_names(matrix.cells)), [](std::size_t) {});
  EXPECT_EQ(results_text(again), results_text(measured));
}

}  // namespace
}  // namespace underlap::bench
