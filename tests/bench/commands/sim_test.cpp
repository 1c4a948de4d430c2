// SPDX-License-Identifier: Apache-2.0
// Virtual time as its user meets it: the same bytes every time and everywhere, and nonsense refused with its place.

#include <fmt/format.h>

#include <cmath>

#include "profiler/formats/format.hpp"
#include "tests/bench/commands/program.hpp"

namespace underlap::bench {
namespace {

nlohmann::json cells_of(const fs::path& run) {
  return nlohmann::json::parse(read_text(run / "results.json")).at("cells");
}

nlohmann::json measured_cells(const RunFolder& folder, const Words& more = {}) {
  folder.measure(more);
  return cells_of(folder.run());
}

constexpr std::uint64_t kHashOfCells = 14384480936756625539U;
constexpr std::uint64_t kHashOfTrace = 15981631404980384710U;

// FNV-1a: enough to tell whether two machines wrote the same bytes.
std::uint64_t hash_of(const std::string& bytes) {
  std::uint64_t hash = 0xCBF29CE484222325ULL;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  return hash;
}

TEST(Sim, WritesTheSameBytesEveryTime) {
  const RunFolder folder(sim_config());
  const fs::path again = folder.folder / "again";
  folder.measure();
  expect_success({"run", folder.config(), "-o", again});
  EXPECT_TRUE(cells_of(folder.run()) == cells_of(again));
  ASSERT_EQ(folder.traces().size(), 2U);
  for (const auto& trace : folder.traces())
    EXPECT_TRUE(read_text(trace) == read_text(again / "traces" / trace.filename())) << trace;
}

// The hashes were taken on x86-64 under Debian 12. They change with the engine, the machine's description or the trace
// format, and never with the machine.
TEST(Sim, WritesTheSameBytesOnAnyMachine) {
  const RunFolder folder(sim_config());
  folder.measure({"--hardware", "h200-sxm"});
  nlohmann::json cells = cells_of(folder.run());
  for (nlohmann::json& cell : cells) cell.erase("plan");  // it names the configuration's place
  EXPECT_EQ(hash_of(cells.dump()), kHashOfCells);
  EXPECT_EQ(hash_of(read_text(folder.traces()[1])), kHashOfTrace);
}

// One cell is in memory at a time, and built anew for its next block.
TEST(Sim, ShowsOfCellsThatTakeTurnsWhatEachShowsAlone) {
  const Words blocks{"--blocks", "3", "--steps", "2", "--jitter-pct", "5"};
  const RunFolder both(sim_config());
  both.measure(blocks);
  for (const std::size_t overlap : {0U, 1U}) {
    const RunFolder alone(
        sim_config(fmt::format("data_parallel_size: 2\nmatrix: {{comm_overlap.overlap_grad_reduce: [{}]}}\n",
                               overlap == 1 ? "true" : "false")));
    alone.measure(blocks);
    const nlohmann::json theirs = cells_of(alone.run())[0]["samples"], ours = cells_of(both.run())[overlap]["samples"];
    EXPECT_EQ(ours.size(), 6U);
    EXPECT_EQ(ours, theirs);
    const auto marks = [&](const RunFolder& folder, std::size_t cell) {
      std::vector<std::int64_t> times;
      for (const Mark& mark : formats::read_trace(folder.traces().at(cell)).marks) times.push_back(mark.time_ns);
      return times;
    };
    EXPECT_EQ(marks(both, overlap), marks(alone, 0));
  }
}

class ReplayedSim : public testing::TestWithParam<const char*> {};

// Its trace holds why each operation started when it did, so nothing is guessed and a replay gives the same step.
TEST_P(ReplayedSim, HasTheSameStep) {
  const RunFolder folder("");
  ASSERT_EQ(underlap_program({"run", UNDERLAP_SOURCE_DIR "/bench/matrices/modes_modelled.yaml", "--cell", GetParam(),
                              "--blocks", "1", "-o", folder.run()})
                .exit_code,
            0);
  const Json replay = json_of({"analyze", folder.traces().at(0), "--details"})["replay"];
  EXPECT_EQ(replay["zero_gaps_us"], replay["measured_us"]);
  EXPECT_LT(std::abs(replay["error"].get<double>()), 1e-5);  // means are rounded
  EXPECT_TRUE(replay["guessed"].empty()) << replay;
}

// A transfer that waits for a kernel's wave, a ring of kernels on several streams, and hosts that wait for messages.
INSTANTIATE_TEST_SUITE_P(Cells, ReplayedSim, testing::Values("dp on", "tp on", "pp off", "pp zb_h1", "tp_cp_pp_dp on"),
                         CaseName());

TEST(Sim, ComputesTheHostsLossesWhereAsked) {
  const auto cells_with = [](const Words& more) {
    const RunFolder folder(sim_config(std::string(kOffAndOn) + "optimizer: {lr: 0.01}\n"));
    return measured_cells(folder, joined({"--steps", "2", "--blocks", "1", "--warmup", "1"}, more));
  };
  const nlohmann::json ours = cells_with({"--numerics", "true"}), theirs = cells_with({"--backend", "host"});
  ASSERT_EQ(ours.size(), 2U);
  for (std::size_t c = 0; c < ours.size(); ++c)
    for (std::size_t s = 0; s < ours[c]["samples"].size(); ++s)
      EXPECT_EQ(ours[c]["samples"][s]["loss"], theirs[c]["samples"][s]["loss"]);
}

std::int64_t compute_of(const nlohmann::json& parts) {
  return parts["same_kernels_ns"].get<std::int64_t>() + parts["other_kernels_ns"].get<std::int64_t>() -
         parts["concurrency_ns"].get<std::int64_t>();
}

std::int64_t compute_of_windows(const nlohmann::json& cell) {
  std::int64_t sum = 0;
  for (const auto& sample : cell["samples"])
    for (const auto& rank : sample["ranks"])
      sum += rank["compute_only_ns"].get<std::int64_t>() + rank["hidden_ns"].get<std::int64_t>();
  return sum;
}

std::int64_t sum_of(const nlohmann::json& object, const std::string& key = "") {
  std::int64_t sum = 0;
  for (const auto& [name, value] : object.items()) sum += (key.empty() ? value : value[key]).get<std::int64_t>();
  return sum;
}

/// Of the ranks that are played, one for each that does the same.
std::int64_t num_windows(const nlohmann::json& cell) { return 2 * cell["num_ranks_played"].get<std::int64_t>(); }

/// All four modes in one step, off and on, in virtual time.
class ComposedSim : public OneRun<ComposedSim> {
 public:
  static std::string config() {
    return "model: {preset: tiny, num_layers: 4, tensor_model_parallel_size: 2, sequence_parallel: true,\n"
           "  pipeline_model_parallel_size: 2, virtual_pipeline_model_parallel_size: 2, context_parallel_size: 2}\n"
           "data_parallel_size: 2\n"
           "train: {micro_batch_size: 1, num_microbatches: 2}\n"
           "run: {backend: sim, steps: 2, blocks: 1, warmup: 1}\n"
           "matrix:\n"
           "  overlap:\n"
           "    - {name: off, comm_overlap.overlap_grad_reduce: false, comm_overlap.overlap_param_gather: false,\n"
           "       comm_overlap.tp_comm_overlap: false, extensions.cp_overlap: false}\n"
           "    - {name: on, comm_overlap.overlap_grad_reduce: true, comm_overlap.overlap_param_gather: true,\n"
           "       comm_overlap.tp_comm_overlap: true, extensions.tp_ring_transport: nccl}\n";
  }
  static Words options() { return {"--details"}; }

 protected:
  const nlohmann::json cells_ = cells_of(folder_->run());
};

TEST_F(ComposedSim, ExplainsTheChangeOfComputeToTheNanosecond) {
  EXPECT_TRUE(cells_[0]["compute_since_off"].is_null()) << "the cell with overlap off";
  const nlohmann::json& win = cells_[1]["compute_since_off"];
  EXPECT_EQ(win["off_cell"], cells_[0]["name"]);
  EXPECT_EQ(win["windows"], num_windows(cells_[1]));
  EXPECT_EQ(compute_of(win["from"]), compute_of_windows(cells_[0]));
  EXPECT_EQ(compute_of(win["to"]), compute_of_windows(cells_[1]));
  EXPECT_EQ(sum_of(win["purposes"], "contention_ns"),
            win["to"]["same_kernels_ns"].get<std::int64_t>() - win["from"]["same_kernels_ns"].get<std::int64_t>());
  EXPECT_EQ(sum_of(win["purposes"], "decomposition_ns"),
            win["to"]["other_kernels_ns"].get<std::int64_t>() - win["from"]["other_kernels_ns"].get<std::int64_t>());
  EXPECT_GT(win["to"]["same_kernels_ns"], 0);
  EXPECT_GT(win["to"]["other_kernels_ns"], 0) << "userbuffers cut products into chunks";
  for (const nlohmann::json& cell : cells_)
    EXPECT_GE(sum_of(cell["kernel_ns"]), compute_of_windows(cell)) << "kernels beside each other count twice";
}

TEST_F(ComposedSim, SplitsTheExposureOfEveryMode) {
  std::int64_t dependency_ns = 0;
  for (const nlohmann::json& cell : cells_) {
    for (const auto& sample : cell["samples"])
      for (const auto& rank : sample["ranks"])
        for (const char* mode : {"cp", "dp", "pp", "tp"}) {
          const nlohmann::json& of = rank["modes"].at(mode);
          EXPECT_EQ(of["exposed_ns"], of["exposed_wait_ns"].get<std::int64_t>() +
                                          of["exposed_transfer_ns"].get<std::int64_t>() +
                                          of["exposed_unsplit_ns"].get<std::int64_t>());
          EXPECT_LE(of["pipeline_dependency_ns"], of["exposed_wait_ns"]);
          if (std::string(mode) == "pp")
            dependency_ns += of["pipeline_dependency_ns"].get<std::int64_t>();
          else
            EXPECT_EQ(of["pipeline_dependency_ns"], 0) << mode;
        }
    EXPECT_EQ(cell["statistics"]["modes"].size(), 4U);
  }
  EXPECT_GT(dependency_ns, 0);
}

TEST(Sim, LaysNoBoundsWhereStepsAloneAreAskedFor) {
  const RunFolder traced(sim_config()), alone(sim_config());
  const nlohmann::json with = measured_cells(traced), without = measured_cells(alone, {"--trace", "false"});
  for (std::size_t i = 0; i < without.size(); ++i) {
    EXPECT_GT(with[i]["bound_ns"], 0);
    EXPECT_TRUE(without[i]["bound_ns"].is_null());
    EXPECT_THAT(without[i]["bound_source"], HasSubstr("run.trace false"));
    EXPECT_EQ(without[i]["samples"][0]["step_ns"], with[i]["samples"][0]["step_ns"]);
  }
}

TEST_F(ComposedSim, KeepsWhatItsKernelsTakeAloneBesideTheBound) {
  for (const nlohmann::json& cell : cells_) {
    EXPECT_GT(sum_of(cell["bound_kernel_ns"]), 0);
    EXPECT_LE(sum_of(cell["bound_kernel_ns"]), cell["bound_ns"].get<std::int64_t>());
    // Alone no kernel is slower than in the step, up to the rounding of each.
    EXPECT_LE(sum_of(cell["bound_kernel_ns"]), sum_of(cell["kernel_ns"]) / num_windows(cell) + 1000);
    for (const auto& [purpose, ns] : cell["kernel_ns"].items()) EXPECT_TRUE(cell["bound_kernel_ns"].contains(purpose));
  }
}

TEST_F(ComposedSim, PrintsTheTables) {
  for (const char* title : {"Communication by mode", "Where the time went", "Excess over bound_schedule"})
    EXPECT_THAT(ran_.out, HasSubstr(title));
  for (const char* column : {"exposed wait ms", "dependency ms", "exposed transfer ms", "+ decomposition", "- forced"})
    EXPECT_THAT(ran_.out, HasSubstr(column));
  const std::string table = underlap_program({"analyze", folder_->traces()[1], "--by", "mode"}).out;
  EXPECT_THAT(table, ContainsRegex("Communication in milliseconds, mean over ranks\n(.*\n)*pp "));
  EXPECT_THAT(table, HasSubstr("dependency"));
}

TEST(Sim, PlaysWhatNoGpuCouldHoldAndSaysWhatWouldFit) {
  const RunFolder folder("model: {preset: llama3-8b}\nrun: {backend: sim, hardware: h100-sxm}\n");
  EXPECT_THAT(underlap_program(folder.arguments()).out,
              ContainsRegex("DOES NOT FIT: .* a GPU has 85.5 GB \\(--layers [0-9]+ is predicted to fit\\)"));
  const nlohmann::json cell = cells_of(folder.run())[0];
  EXPECT_EQ(cell["device_memory_bytes"], 85'520'000'000);
  EXPECT_EQ(cell["peak_memory_bytes"], cell["plan"]["peak_memory_bytes"]["total"]);
  const std::string advice = cell["memory_advice"];
  const std::string layers = advice.substr(9, advice.find(' ', 9) - 9);
  const RunFolder shorter("model: {preset: llama3-8b}\nrun: {backend: sim, hardware: h100-sxm}\n");
  EXPECT_THAT(underlap_program(shorter.arguments({"--layers", layers})).out, Not(HasSubstr("DOES NOT FIT")));
}

}  // namespace
}  // namespace underlap::bench
