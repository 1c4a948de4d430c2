// SPDX-License-Identifier: Apache-2.0
// Virtual time as its user meets it: the same bytes every time and everywhere, and nonsense refused with its place.
#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/bench/cli/program.hpp"

namespace underlap::bench {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kMatrix =
    "data_parallel_size: 2\n"
    "matrix: {comm_overlap.overlap_grad_reduce: [false, true]}\n";

std::string sim_config(const std::string& more = kMatrix) {
  return "model: {num_layers: 1, hidden_size: 32, ffn_hidden_size: 64, num_attention_heads: 2, num_query_groups: 2, "
         "vocab_size: 256, seq_length: 16}\nrun: {backend: sim}\n" +
         more;
}

nlohmann::json cells_of(const std::filesystem::path& run) {
  return nlohmann::json::parse(testing::read_text(run / "results.json")).at("cells");
}

constexpr std::uint64_t kHashOfCells = 5365957202990686542U;
constexpr std::uint64_t kHashOfTrace = 16058131481044785504U;

// FNV-1a: enough to tell whether two machines wrote the same bytes.
std::uint64_t hash_of(const std::string& bytes) {
  std::uint64_t hash = 0xCBF29CE484222325ULL;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  return hash;
}

TEST(Sim, WritesTheSameBytesEveryTime) {
  const RunFolder folder(sim_config());
  const std::filesystem::path again = folder.folder / "again";
  ASSERT_EQ(underlap_program(folder.arguments()).exit_code, 0);
  ASSERT_EQ(underlap_program({"run", folder.config(), "-o", again}).exit_code, 0);
  EXPECT_TRUE(cells_of(folder.run()) == cells_of(again));
  ASSERT_EQ(folder.traces().size(), 2U);
  for (const auto& trace : folder.traces())
    EXPECT_TRUE(testing::read_text(trace) == testing::read_text(again / "traces" / trace.filename())) << trace;
}

// The hashes were taken on x86-64 under Debian 12. They change with the engine, the machine's description or the trace
// format, and never with the machine.
TEST(Sim, WritesTheSameBytesOnAnyMachine) {
  const RunFolder folder(sim_config());
  ASSERT_EQ(underlap_program(folder.arguments({"--hardware", "h200-sxm"})).exit_code, 0);
  nlohmann::json cells = cells_of(folder.run());
  for (nlohmann::json& cell : cells) cell.erase("plan");  // it names the configuration's place
  EXPECT_EQ(hash_of(cells.dump()), kHashOfCells);
  EXPECT_EQ(hash_of(testing::read_text(folder.traces()[1])), kHashOfTrace);
}

TEST(Sim, SaysThatItsTimesAreModelled) {
  const RunFolder folder(sim_config());
  EXPECT_THAT(underlap_program(folder.arguments()).out,
              AllOf(HasSubstr("backend sim"), HasSubstr("every time here is modelled, none was measured"),
                    Not(HasSubstr("CPU ms")), Not(HasSubstr("loss"))));
}

TEST(Sim, ComputesTheHostsLossesWhereAsked) {
  const RunFolder sim(sim_config(std::string(kMatrix) + "optimizer: {lr: 0.01}\n"));
  const RunFolder host(sim_config(std::string(kMatrix) + "optimizer: {lr: 0.01}\n"));
  const std::vector<std::string> shape{"--steps", "2", "--blocks", "1", "--warmup", "1"};
  std::vector<std::string> on_sim = shape;
  on_sim.insert(on_sim.end(), {"--numerics", "true"});
  std::vector<std::string> on_host = shape;
  on_host.insert(on_host.end(), {"--backend", "host"});
  ASSERT_EQ(underlap_program(sim.arguments(on_sim)).exit_code, 0);
  ASSERT_EQ(underlap_program(host.arguments(on_host)).exit_code, 0);
  const nlohmann::json theirs = cells_of(host.run());
  const nlohmann::json ours = cells_of(sim.run());
  ASSERT_EQ(ours.size(), 2U);
  for (std::size_t c = 0; c < ours.size(); ++c)
    for (std::size_t s = 0; s < ours[c]["samples"].size(); ++s)
      EXPECT_EQ(ours[c]["samples"][s]["loss"], theirs[c]["samples"][s]["loss"]);
}

TEST(Sim, RefusesAHardwareFileThatIsWrongWithItsPlace) {
  const RunFolder folder(sim_config());
  std::string yaml = testing::read_text(UNDERLAP_SOURCE_DIR "/tests/data/hardware/round.yaml");
  const std::string good = "hbm_gb_per_s: {value: 1000";
  ASSERT_NE(yaml.find(good), std::string::npos);
  yaml.replace(yaml.find(good), good.size(), "hbm_gb_per_s: {value: 0");
  const std::string path = folder.folder / "mine.yaml";
  testing::write_text(path, yaml);
  EXPECT_THAT(underlap_program(folder.arguments({"--hardware", path})),
              fails_with(2, "mine.yaml:13:25: gpu.hbm_gb_per_s"));
  EXPECT_THAT(underlap_program(folder.arguments({"--hardware", "h100"})), fails_with(2, "h100-sxm"));
  EXPECT_FALSE(std::filesystem::exists(folder.run())) << "a run that cannot begin leaves nothing behind";
}

}  // namespace
}  // namespace underlap::bench
