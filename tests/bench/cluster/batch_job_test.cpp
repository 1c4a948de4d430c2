// SPDX-License-Identifier: Apache-2.0
#include "bench/cluster/batch_job.hpp"

#include "tests/profiler/temporary_folder.hpp"
#include "tests/testing.hpp"

namespace underlap::bench {
namespace {

BatchJob small_job() {
  BatchJob job;
  job.name = "underlap-quick";
  job.folder = "/data/my run";
  job.run = {"/opt/underlap", "run", "it's.yaml", "-o", "/data/my run", "--resume"};
  job.nodes = 2;
  job.ranks_per_node = 8;
  return job;
}

TEST(BatchJob, ScriptSaysWhatIsAskedForAndGoesOnWhereItEnded) {
  EXPECT_EQ(
      job_script(small_job()),
      "#!/bin/bash\n"
      "# Underlap run. If submitted again (sbatch job.sh), it continues after its last finished block.\n"
      "#SBATCH --job-name=underlap-quick\n"
      "#SBATCH --nodes=2\n"
      "#SBATCH --ntasks-per-node=8\n"
      "#SBATCH --signal=TERM@120\n"
      "#SBATCH --requeue\n"
      "#SBATCH --open-mode=append\n"
      "#SBATCH --output=\"/data/my run/job-%j.txt\"\n"
      "\n"
      "srun --ntasks-per-node=8 --kill-on-bad-exit=1 /opt/underlap run 'it'\\''s.yaml' -o '/data/my run' "
      "--resume\n"
      "code=$?\n"
      "# Restart after a failed rank or node (not after success, differing losses, bad input or the time limit).\n"
      "if [ $code -ge 3 ] && [ $code -ne 143 ] && [ \"${SLURM_RESTART_COUNT:-0}\" -lt 3 ]; then\n"
      "  scontrol requeue \"$SLURM_JOB_ID\" && exit $code\n"
      "fi\n"
      "exit $code\n");
}

TEST(BatchJob, ScriptOfAnArrayRunsOneCellInATaskAndMergesThem) {
  BatchJob job = small_job();
  job.run = {"/opt/underlap", "run", "it's.yaml", "--resume"};
  job.tasks = {{0, "off"}, {3, "a cell's name"}};
  job.requeues = false;
  EXPECT_EQ(job_script(job),
            "#!/bin/bash\n"
            "# Underlap run. If submitted again (sbatch job.sh), it continues after its last finished block.\n"
            "#SBATCH --job-name=underlap-quick\n"
            "#SBATCH --array=0,3\n"
            "#SBATCH --nodes=2\n"
            "#SBATCH --ntasks-per-node=8\n"
            "#SBATCH --signal=TERM@120\n"
            "#SBATCH --no-requeue\n"
            "#SBATCH --open-mode=append\n"
            "#SBATCH --output=\"/data/my run/job-%A_%a.txt\"\n"
            "\n"
            "cells=(\n"
            "  [0]=off\n"
            "  [3]='a cell'\\''s name'\n"
            ")\n"
            "folder='/data/my run/cells'/$SLURM_ARRAY_TASK_ID\n"
            "mkdir -p \"$folder\"\n"
            "rm -f \"$folder/exit_code\"\n"
            "\n"
            "srun --ntasks-per-node=8 --kill-on-bad-exit=1 /opt/underlap run 'it'\\''s.yaml' --resume "
            "--cell \"${cells[$SLURM_ARRAY_TASK_ID]}\" -o \"$folder\"\n"
            "code=$?\n"
            "echo $code >\"$folder/exit_code\"\n"
            "/opt/underlap merge '/data/my run'\n"
            "exit $code\n");
}

TEST(BatchJob, ScriptHasFurtherOptionsWhereTheyAreWanted) {
  BatchJob job = small_job();
  job.gpus_per_node = 8;
  job.cpus_per_rank = 12;
  job.partition = "gpu";
  job.account = "team";
  job.time = "02:00:00";
  job.requeues = false;
  job.more = {"--constraint=h100"};
  const std::string script = job_script(job);
  for (const char* option : {"--gpus-per-node=8", "--cpus-per-task=12", "--partition=gpu", "--account=team",
                             "--time=02:00:00", "--no-requeue", "--constraint=h100"})
    EXPECT_THAT(script, HasSubstr(std::string("#SBATCH ") + option + "\n"));
  EXPECT_THAT(script, Not(HasSubstr("#SBATCH --requeue")));
  EXPECT_THAT(script, Not(HasSubstr("scontrol")));
}

TEST(BatchJob, SubmissionIsReadBack) {
  const testing_support::TemporaryFolder folder;
  EXPECT_FALSE(read_job(folder / "").has_value());
  write_job(folder / "", {.job = "17", .nodes = 2, .ranks_per_node = 8, .submitted_s = 1'800'000'000});
  const auto job = read_job(folder / "");
  ASSERT_TRUE(job.has_value());
  EXPECT_EQ(job->job, "17");
  EXPECT_EQ(job->submitted_s, 1'800'000'000);
  testing_support::write_text(folder / "job.json", "{\"schema\": \"underlap.job/1\"}");
  EXPECT_THROW(read_job(folder / ""), std::invalid_argument);
}

}  // namespace
}  // namespace underlap::bench
