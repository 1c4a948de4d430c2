// SPDX-License-Identifier: Apache-2.0
// PyTorch jobs on CPUs, whose communication gloo runs on threads of the host.
#include <gmock/gmock.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "profiler/analysis/analysis.hpp"
#include "profiler/input/trace_input.hpp"
#include "tests/profiler/input/rank_file.hpp"
#include "tests/profiler/temporary_folder.hpp"
#include "tests/profiler/watch.hpp"

namespace underlap::input::gloo_jobs {
namespace {

using namespace ::testing;        // NOLINT
using namespace testing_support;  // NOLINT

CellTrace read(const std::vector<std::string>& files) {
  Watch watch;
  return read_cell(
      files, [](const Trace&) { return attribution::AttributionOptions{}; }, watch);
}

std::string members_of(int rank, std::string_view groups) {
  return fmt::format(
      R"("host_name": "a", "distributedInfo": {{"backend": "gloo", "rank": {}, "world_size": 2, "pg_config": [{}]}})",
      rank, groups);
}

constexpr std::string_view kWorld = R"({"pg_name": "0", "pg_desc": "default_pg", "pg_size": 2, "ranks": [0, 1]})";
constexpr std::string_view kMeshes =
    R"({"pg_name": "0", "pg_desc": "default_pg", "pg_size": 2, "ranks": [0, 1]},
       {"pg_name": "1", "pg_desc": "mesh_dp", "pg_size": 2, "ranks": [0, 1]},
       {"pg_name": "2", "pg_desc": "mesh_tp", "pg_size": 2, "ranks": [0, 1]})";
constexpr std::string_view kShape = R"(, "Input type": ["float"], "Input Dims": [[10, 50]])";

// Two steps of 1000 us: compute from 100 to 500 and, on rank 1 for longer, to 600; a reduction on thread 950 that
// starts 100 us before the compute ends and lasts 300 us.
RankFile ddp(int rank) {
  RankFile file(members_of(rank, kWorld));
  for (int step = 0; step < 2; ++step) {
    const double at = 1000.0 * step;
    const double end = at + (rank == 0 ? 500 : 600);
    file.step(step, at, 1000);
    file.host("aten::addmm", at + 100, end - at - 100).host("aten::mm", at + 150, 50);
    file.host("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", end - 110, 8);
    file.host("c10d::allreduce_", end - 105, 2);
    file.host("gloo:all_reduce", end - 100, at + 800 - (end - 100), kShape, 950, "user_annotation");
  }
  return file;
}

TEST(Gloo, SplitsAJobOnCpusLikeOneOnGpus) {
  const TemporaryFolder folder;
  for (const int rank : {0, 1}) write_text(folder / fmt::format("rank{}.json", rank), ddp(rank).text());
  const CellTrace cell = read({folder / "rank0.json", folder / "rank1.json"});
  EXPECT_EQ(cell.summary.communications->matching.matched_slices, 4);
  EXPECT_EQ(cell.summary.job_steps.size(), 2U);
  const analysis::Split& first = cell.summary.shown()[0].splits[0];
  EXPECT_EQ(first.window_ns, 1'000'000);
  EXPECT_EQ(first.compute_ns(), 400'000);
  EXPECT_EQ(first.comm_ns(), 400'000);
  EXPECT_EQ(first.exposed_ns(), 300'000);
  EXPECT_EQ(first.exposed_wait_ns, 0);  // rank 1 starts its reduction when the compute of rank 0 ends
  EXPECT_EQ(first.modes.at("dp").count, 1);
  EXPECT_EQ(first.modes.at("dp").bytes_on_wire, 2000);
  EXPECT_EQ(cell.summary.shown()[1].splits[0].exposed_ns(), 200'000);
}

// Two groups, each with two threads; the operators name no group.
TEST(Gloo, FindsTheGroupsOfThreadsByTheOrderInWhichTheyWereMade) {
  RankFile file(members_of(0, kMeshes));
  file.step(0, 0, 2000);
  file.host("aten::mm", 0, 1000);
  const auto operation = [&](const char* op, const char* span, double at, int thread, std::string_view shape) {
    file.host(op, at, 2);
    file.host(span, at + 10, 50, shape, thread, "user_annotation");
  };
  constexpr std::string_view kOther = R"(, "Input type": ["float"], "Input Dims": [[7]])";
  operation("c10d::_allgather_base_", "gloo:all_gather", 100, 950, kShape);
  operation("c10d::allreduce_", "gloo:all_reduce", 200, 960, kOther);
  operation("c10d::_reduce_scatter_base_", "gloo:all_reduce", 300, 951, kShape);
  operation("c10d::allreduce_", "gloo:all_reduce", 400, 961, kOther);
  const TemporaryFolder folder;
  write_text(folder / "rank0.json", file.text());
  const CellTrace cell = read({folder / "rank0.json"});
  const auto& total = cell.summary.shown().front().total;
  EXPECT_EQ(total.modes.at("dp").count, 2);
  EXPECT_EQ(total.modes.at("tp").count, 2);
  EXPECT_THAT(total.purposes, UnorderedElementsAre(Key("all_gather"), Key("reduce_scatter"), Key("all_reduce")));
  EXPECT_EQ(total.purposes.at("all_gather").bytes_on_wire, 2000);      // half of the result
  EXPECT_EQ(total.purposes.at("reduce_scatter").bytes_on_wire, 2000);  // gloo reduces all of it
}

// Tensor parallelism waits inside operators of the main thread.
TEST(Gloo, WaitsInsideAnOperatorAreNoCompute) {
  RankFile file(members_of(0, kWorld));
  file.step(0, 0, 1000).host("aten::add", 100, 500).host("_c10d_functional::wait_tensor", 200, 300);
  file.host("c10d::allreduce_", 150, 2).host("gloo:all_reduce", 160, 330, kShape, 950, "user_annotation");
  const TemporaryFolder folder;
  write_text(folder / "rank0.json", file.text());
  EXPECT_EQ(read({folder / "rank0.json"}).summary.shown().front().total.compute_ns(), 200'000);
}

TEST(Gloo, ShortFilesOfOneJobAreAccepted) {
  const TemporaryFolder folder;
  for (const int rank : {0, 1}) {
    RankFile file(members_of(rank, kWorld));
    file.host("aten::mm", 1000 + 50 * rank, 10).host("c10d::allreduce_", 1200 + 50 * rank, 500);
    write_text(folder / fmt::format("r{}.json", rank), file.text());
  }
  const CellTrace cell = read({folder / "r0.json", folder / "r1.json"});
  ASSERT_EQ(cell.summary.shown().size(), 2U);
  EXPECT_EQ(cell.summary.shown()[0].total.comm_ns(), 500'000);
}

// A job whose collectives run on GPUs, recorded without them.
TEST(Gloo, IsNotAssumedForAGpuJobRecordedWithoutGpuWork) {
  RankFile file;
  file.step(0, 0, 1000).host("aten::mm", 100, 100).host("c10d::allreduce_", 300, 5);
  file.host("nccl:all_reduce", 301, 3, "", 900, "user_annotation");
  const TemporaryFolder folder;
  write_text(folder / "rank0.json", file.text());
  EXPECT_THROW(read({folder / "rank0.json"}), std::invalid_argument);
}

std::string output_of(const std::string& command) {
  std::string text;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::array<char, 4096> buffer{};
  for (std::size_t n = 0; pipe && (n = std::fread(buffer.data(), 1, buffer.size(), pipe.get())) > 0;)
    text.append(buffer.data(), n);
  return text;
}

class RealGloo : public TestWithParam<const char*> {};

// Four processes of a real job. gloo_truth.py computes the figures without any code of Underlap.
TEST_P(RealGloo, EqualsAnIndependentComputation) {
  const char* folder = std::getenv("UNDERLAP_REAL_TRACES");
  if (folder == nullptr) GTEST_SKIP() << "UNDERLAP_REAL_TRACES is not set";
  std::vector<std::string> files;
  std::string command = "python3 " UNDERLAP_GLOO_TRUTH;
  for (int rank = 0; rank < 4; ++rank) {
    files.push_back(fmt::format("{}/torch_gloo/{}-rank{}.json.gz", folder, GetParam(), rank));
    command += " " + files.back();
  }
  if (!std::filesystem::exists(files.front())) GTEST_SKIP() << files.front() << " is not there";
  const auto truth = nlohmann::json::parse(output_of(command));
  const CellTrace cell = read(files);
  std::size_t compared = 0;
  for (const auto& expected : truth["rank_steps"])
    for (const analysis::RankSummary& rank : cell.summary.shown())
      for (std::size_t i = 0; i < rank.windows.size(); ++i) {
        if (rank.rank != expected["rank"] || rank.windows[i].step != expected["step"]) continue;
        const analysis::Split& split = rank.splits[i];
        const auto us = [](std::int64_t ns) { return static_cast<double>(ns) / 1e3; };
        const auto check = [&](const char* key, double value, const nlohmann::json& in) {
          EXPECT_NEAR(value, in[key].get<double>(), 0.002) << expected["rank"] << " " << expected["step"] << " " << key;
        };
        check("step_us", us(split.window_ns), expected);
        check("compute_us", us(split.compute_ns()), expected);
        check("comm_us", us(split.comm_ns()), expected);
        check("exposed_us", us(split.exposed_ns()), expected);
        check("hidden_us", us(split.hidden_ns), expected);
        check("idle_us", us(split.idle_ns), expected);
        check("exposed_wait_us", us(split.exposed_wait_ns), expected);
        check("exposed_transfer_us", us(split.exposed_transfer_ns()), expected);
        EXPECT_EQ(split.modes.size(), expected["modes"].size());
        for (const auto& [mode, figures] : expected["modes"].items()) {
          ASSERT_TRUE(split.modes.contains(mode)) << mode;
          EXPECT_EQ(split.modes.at(mode).count, figures["count"]);
          check("comm_us", us(split.modes.at(mode).comm_ns), figures);
          check("exposed_us", us(split.modes.at(mode).exposed_ns), figures);
        }
        ++compared;
      }
  EXPECT_EQ(compared, truth["rank_steps"].size());
}

INSTANTIATE_TEST_SUITE_P(Jobs, RealGloo, Values("ddp", "fsdp", "tpdp"));

}  // namespace
}  // namespace underlap::input::gloo_jobs
